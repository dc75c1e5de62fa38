//! The scenarios that come with the program, compiled in.

/// A scenario that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) },)*]
    };
}

/// All of them, in the order in which they are listed.
pub const SHIPPED: &[Shipped] = shipped!["demo", "demo-http10", "obata-2002"];

/// Files that shipped scenarios refer to, by the path they use.
const PAGES: &[(&str, &str)] = &[("pages/page-2013.csv", include_str!("../../../scenarios/pages/page-2013.csv"))];

/// The shipped scenario called `name`.
pub fn find(name: &str) -> Option<Shipped> {
    SHIPPED.iter().copied().find(|shipped| shipped.name == name)
}

/// The text of the shipped file at `path`.
pub(crate) fn page(path: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}
