//! What the client saw of a load: when what happened to each object, and the bytes that arrived.

use crate::origin::Site;
use crate::{MeasureError, digest};
use bytes::Bytes;
use farhop_results::ObjectTiming;
use farhop_units::{Bytes as Size, Instant};
use farhop_web::Page;
use std::time::Duration;

/// One object's way to the client.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    connection: usize,
    discovered: Instant,
    connecting: Option<Instant>,
    requested: Instant,
    first_byte: Option<Instant>,
    end: Option<Instant>,
    body: Vec<Bytes>,
    size: Size,
}

impl Received {
    /// The request has gone out.
    pub(super) fn requested(connection: usize, discovered: Instant, connecting: Option<Instant>, at: Instant) -> Self {
        let (first_byte, end) = (None, None);
        Self { connection, discovered, connecting, requested: at, first_byte, end, body: Vec::new(), size: Size::ZERO }
    }

    /// A part of the body has arrived.
    pub(super) fn arrived(&mut self, bytes: Bytes, at: Instant) {
        self.first_byte.get_or_insert(at);
        self.size += Size::new(bytes.len() as u64);
        self.body.push(bytes);
    }

    /// The response is complete.
    pub(super) fn complete(&mut self, at: Instant) {
        self.end = Some(at);
    }

    /// Whether the response is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    /// Bytes of the body that have arrived.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// When the last byte arrived; an object that is never complete never reaches an observation.
    fn end(&self) -> Instant {
        self.end.unwrap_or(self.requested)
    }

    /// When the body's first byte arrived; for a body without bytes, its end.
    fn first_byte(&self) -> Instant {
        self.first_byte.unwrap_or_else(|| self.end())
    }
}

/// A complete load as the client saw it.
#[derive(Debug, Clone)]
pub struct Observation {
    objects: Vec<Received>,
    started: Instant,
}

impl Observation {
    /// The load whose first SYN went out at `started`.
    pub(super) fn new(objects: Vec<Received>, started: Instant) -> Self {
        Self { objects, started }
    }

    /// When the load's first SYN went out.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// When the last byte of the last object arrived.
    pub fn ended(&self) -> Instant {
        self.objects.iter().map(Received::end).max().unwrap_or(self.started)
    }

    /// From the first SYN to the last byte of the last object.
    pub fn page_load(&self) -> Duration {
        self.ended() - self.started
    }

    /// From the first SYN to the first byte of the first response's body.
    pub fn first_byte(&self) -> Duration {
        self.objects.first().map_or(self.started, Received::first_byte) - self.started
    }

    /// Compares every body with the origin's and gives the objects' timings, in the order of the page.
    ///
    /// # Errors
    /// A body that is not the origin's.
    pub fn verify(&self, page: &Page, site: &Site) -> Result<Vec<ObjectTiming>, MeasureError> {
        let objects = page.objects.iter().zip(&self.objects).enumerate();
        objects
            .map(|(index, (object, received))| self.verify_object(&object.name, received, site.body(index)))
            .collect()
    }

    fn verify_object(&self, name: &str, received: &Received, sent: &Bytes) -> Result<ObjectTiming, MeasureError> {
        let hash = digest::sha256(&received.body);
        let expected = digest::sha256(std::slice::from_ref(sent));
        if hash != expected {
            return Err(MeasureError::Corrupt {
                object: name.to_owned(),
                received: hash,
                size: received.size,
                expected,
                expected_size: Size::new(sent.len() as u64),
            });
        }
        Ok(self.timing(name, received, hash))
    }

    fn timing(&self, name: &str, received: &Received, sha256: String) -> ObjectTiming {
        let seconds = |at: Instant| (at - self.started).as_secs_f64();
        ObjectTiming {
            name: name.to_owned(),
            bytes: received.size.get(),
            connection: u32::try_from(received.connection).unwrap_or(u32::MAX),
            discovered_s: seconds(received.discovered),
            connect_s: received.connecting.map(seconds),
            request_s: seconds(received.requested),
            first_byte_s: seconds(received.first_byte()),
            end_s: seconds(received.end()),
            sha256: Some(sha256),
        }
    }
}
