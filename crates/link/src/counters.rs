//! What went into one direction and where it is now.

use farhop_units::Bytes;

/// A number of packets and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

impl Count {
    /// One packet more.
    pub(crate) fn add(&mut self, bytes: Bytes) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// One packet less.
    pub(crate) fn remove(&mut self, bytes: Bytes) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

impl core::ops::Add for Count {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// One direction's books since the channel was made: `arrived + duplicated = delivered + dropped + held` at every instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Handed to the channel.
    pub arrived: Count,
    /// Copies that the link made: of duplicated packets, and of those for all terminals.
    pub duplicated: Count,
    /// Put out at the other side, copies included.
    pub delivered: Count,
    /// Dropped, for whatever reason.
    pub dropped: Count,
    /// Waiting for the serializer.
    pub queued: Count,
    /// Being serialized.
    pub in_service: Count,
    /// In the pipe.
    pub in_flight: Count,
}

impl Counters {
    /// Everything inside: queued, in service or in flight.
    pub fn held(&self) -> Count {
        self.queued + self.in_service + self.in_flight
    }
}

impl core::ops::Add for Counters {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            arrived: self.arrived + other.arrived,
            duplicated: self.duplicated + other.duplicated,
            delivered: self.delivered + other.delivered,
            dropped: self.dropped + other.dropped,
            queued: self.queued + other.queued,
            in_service: self.in_service + other.in_service,
            in_flight: self.in_flight + other.in_flight,
        }
    }
}

impl core::iter::Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), core::ops::Add::add)
    }
}
