//! TLS 1.3 over QUIC (RFC 9001 §4), as messages of real sizes: when each end has which keys.
//!
//! The messages of one end are one stream of bytes of which a first part belongs to the Initial level. Sizes beside those that
//! the scenario sets, with X25519, ECDSA P-256 and SHA-256 (RFC 8446 §4): ServerHello 90, EncryptedExtensions with transport
//! parameters 100, CertificateVerify 79, Finished 36. The server sends its messages when it has the whole ClientHello, the client
//! its Finished when it has all of them.

use super::config::{QuicConfig, Resumption};
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::packet::{Level, Packet};

const SERVER_HELLO: u64 = 90;
const ENCRYPTED_EXTENSIONS: u64 = 100;
const CERTIFICATE_VERIFY: u64 = 79;
const FINISHED: u64 = 36;
/// What a server sends beside its certificates in a full handshake.
pub(super) const FLIGHT_WITHOUT_CERTIFICATES: u64 = SERVER_HELLO + ENCRYPTED_EXTENSIONS + CERTIFICATE_VERIFY + FINISHED;

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

/// One end's handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) role: Role,
    pub(super) outgoing: Outgoing,
    incoming: Incoming,
    client_hello: u64,
    server_flight: u64,
    early_data: bool,
    /// The client has sent something at the Handshake level and forgets the Initial keys (RFC 9001 §4.9.1).
    left_initial: bool,
    /// The server has said that the handshake is complete, or has to.
    pub(super) is_confirmed: bool,
    pub(super) done_due: bool,
}

impl Handshake {
    pub(super) fn new(role: Role, config: &QuicConfig) -> Self {
        let certificates = match config.resumption {
            Resumption::None => config.certificates.get() + CERTIFICATE_VERIFY,
            Resumption::OneRtt | Resumption::ZeroRtt => 0,
        };
        let client_hello = config.client_hello.get().max(1);
        let mut outgoing = Outgoing::new();
        if role == Role::Client {
            outgoing.write(client_hello);
        }
        Self {
            role,
            outgoing,
            incoming: Incoming::new(),
            client_hello,
            server_flight: SERVER_HELLO + ENCRYPTED_EXTENSIONS + certificates + FINISHED,
            early_data: config.resumption == Resumption::ZeroRtt,
            left_initial: false,
            is_confirmed: false,
            done_due: false,
        }
    }

    /// Bytes of messages have arrived; returns whether they completed the handshake.
    pub(super) fn receive(&mut self, offset: u64, length: u64) -> bool {
        let (had_hello, was_complete) = (self.has_hello(), self.is_complete());
        self.incoming.receive(offset, length, false);
        let completes = !was_complete && self.is_complete();
        match self.role {
            Role::Server if !had_hello && self.has_hello() => self.outgoing.write(self.server_flight),
            Role::Client if completes => self.outgoing.write(FINISHED),
            _ => {}
        }
        if completes && self.role == Role::Server {
            (self.is_confirmed, self.done_due) = (true, true);
        }
        completes
    }

    /// RFC 9002 §6.2.3: a client that still asks at the Initial level has not got the server's messages.
    pub(super) fn speed_up(&mut self, packet: &Packet) {
        let asks = packet.has(Level::Initial) && !packet.has(Level::Handshake) && packet.is_eliciting();
        if self.role == Role::Server && asks && self.has_hello() && !self.is_complete() {
            self.outgoing.lose_all();
        }
    }

    /// Whether the other end's Hello has arrived, so that there are keys beyond the Initial ones.
    pub(super) fn has_hello(&self) -> bool {
        let hello = if self.role == Role::Client { SERVER_HELLO } else { self.client_hello };
        self.incoming.expected() >= hello
    }

    /// Whether the other end's Finished has arrived.
    pub(super) fn is_complete(&self) -> bool {
        let all = if self.role == Role::Client { self.server_flight } else { self.client_hello + FINISHED };
        self.incoming.expected() >= all
    }

    /// Where the Initial part of the own messages ends.
    fn boundary(&self) -> u64 {
        if self.role == Role::Client { self.client_hello } else { SERVER_HELLO }
    }

    /// The level of own messages at `offset`, and how many bytes follow at the same.
    pub(super) fn level_at(&self, offset: u64) -> (Level, u64) {
        match self.boundary().checked_sub(offset).filter(|rest| *rest > 0) {
            Some(rest) => (Level::Initial, rest),
            None => (Level::Handshake, u64::MAX),
        }
    }

    /// The level of an acknowledgement, or of a frame that any level may carry.
    pub(super) fn control_level(&self) -> Level {
        let has_unsent = self.outgoing.next() < self.outgoing.written();
        match self.role {
            Role::Client if !self.has_hello() => Level::Initial,
            Role::Server if self.outgoing.next() == 0 => Level::Initial,
            Role::Client if !self.is_complete() || has_unsent => Level::Handshake,
            Role::Server if !self.is_complete() => Level::Handshake,
            _ => Level::OneRtt,
        }
    }

    /// The level at which streams may send, if they may.
    pub(super) fn stream_level(&self) -> Option<Level> {
        match self.role {
            Role::Client if self.is_complete() => Some(Level::OneRtt),
            Role::Client => self.early_data.then_some(Level::ZeroRtt),
            // Half a round trip before the handshake is complete (RFC 9001 §4.1.1).
            Role::Server => self.has_hello().then_some(Level::OneRtt),
        }
    }

    /// Whether what arrives at the level of the connection can be read.
    pub(super) fn can_read(&self, level: Level) -> bool {
        match level {
            Level::Initial | Level::Handshake => true,
            Level::ZeroRtt => self.has_hello(),
            Level::OneRtt => self.is_complete(),
        }
    }

    /// The first packet at the Handshake level leaves: whether an acknowledgement at the Initial level goes along.
    pub(super) fn leave_initial(&mut self) -> bool {
        let first = self.role == Role::Client && !self.left_initial;
        self.left_initial |= first;
        first
    }
}
