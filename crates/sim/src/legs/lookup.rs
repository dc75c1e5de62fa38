//! Asking for the address of a host: one question, one answer, a UDP datagram each (RFC 1035 §4.2.1).
//!
//! A question without an answer is asked again, as often as it takes. Left out: giving up, other resolvers, and the time to live
//! of what is known.

use farhop_units::{Bytes, Instant};
use farhop_web::{DNS_ANSWER_BYTES, DNS_QUERY_BYTES, DNS_TIMEOUT};

/// A datagram of DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Datagram {
    Query,
    Answer,
}

impl Datagram {
    /// Size on the wire, IP and UDP headers included.
    pub(crate) const fn wire_bytes(self) -> Bytes {
        match self {
            Self::Query => DNS_QUERY_BYTES,
            Self::Answer => DNS_ANSWER_BYTES,
        }
    }
}

/// Who asks, or who knows.
#[derive(Debug)]
pub(super) struct Lookup {
    /// What this end sends, and how often it still has to.
    says: Datagram,
    unsent: u32,
    /// When to ask again.
    due: Option<Instant>,
    /// The answer is there, and nobody has been told so.
    is_news: bool,
}

impl Lookup {
    /// The end that asks.
    pub(super) fn client(now: Instant) -> Self {
        Self { says: Datagram::Query, unsent: 1, due: Some(now + DNS_TIMEOUT), is_news: false }
    }

    /// The end that knows.
    pub(super) const fn resolver() -> Self {
        Self { says: Datagram::Answer, unsent: 0, due: None, is_news: false }
    }

    pub(super) fn handle_packet(&mut self, datagram: Datagram) {
        match datagram {
            Datagram::Query => self.unsent += 1,
            Datagram::Answer => (self.due, self.is_news) = (None, true),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            (self.unsent, self.due) = (self.unsent + 1, Some(now + DNS_TIMEOUT));
        }
    }

    pub(super) const fn next_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// The next datagram to be sent.
    pub(super) fn next_datagram(&mut self) -> Option<Datagram> {
        self.unsent = self.unsent.checked_sub(1)?;
        Some(self.says)
    }

    /// Whether the answer has come since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.is_news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_again_until_there_is_an_answer() {
        let at = |s| Instant::START + std::time::Duration::from_secs(s);
        let (mut client, mut resolver) = (Lookup::client(at(0)), Lookup::resolver());
        assert_eq!([(); 2].map(|()| client.next_datagram()), [Some(Datagram::Query), None]);
        assert_eq!(client.next_timeout(), Some(at(5)));
        client.handle_timeout(at(5));
        resolver.handle_packet(client.next_datagram().expect("it asks again"));
        client.handle_packet(resolver.next_datagram().expect("it answers"));
        assert_eq!((client.take_news(), client.take_news(), client.next_timeout()), (true, false, None));
        assert_eq!((client.next_datagram(), resolver.next_datagram(), resolver.next_timeout()), (None, None, None));
    }
}
