//! A page as a graph: its objects, their sizes, and where each is referenced.

use farhop_units::Bytes;

/// A page: object 0 is the HTML document that names the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects, in the order in which the document names them; never empty.
    pub objects: Vec<Object>,
}

/// One object of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Name, which is also the path on the server without the leading slash.
    pub name: String,
    /// Media type, e.g. `image/png`.
    pub media_type: String,
    /// Size of the body.
    pub size: Bytes,
    /// Where the object's name stands; `None` for the document itself.
    pub reference: Option<Reference>,
}

/// Where an object is referenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Index of the object whose body holds the reference.
    pub object: usize,
    /// Offset of the referring tag's first byte in that body.
    pub offset: Bytes,
}

impl Page {
    /// Bytes of all bodies.
    pub fn total_bytes(&self) -> Bytes {
        self.objects.iter().map(|object| object.size).sum()
    }
}
