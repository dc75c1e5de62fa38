//! The ends of emulated links: where packets of a host's network stack come out and go in.
//!
//! Of two kinds, both of which give one IP packet per read, as it would be on the wire: a TUN device, or, where
//! `/dev/net/tun` may not be opened, one end of a veth pair whose other end is read by a packet socket.

mod packet;

use crate::EmuError;
use crate::tun::Tun;
use nix::unistd::Pid;
use packet::PacketSocket;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceKind {
    /// A TUN device.
    Tun,
    /// A veth pair and a packet socket: some microseconds more per packet, but no device file is needed.
    Packet,
}

/// One end of an emulated link, non-blocking.
#[derive(Debug)]
pub(crate) enum Device {
    /// A TUN device.
    Tun(Tun),
    /// A veth pair and a packet socket.
    Packet(PacketSocket),
}

impl Device {
    /// Creates the device `name` in the calling thread's network namespace.
    pub(crate) fn create(name: &str, kind: DeviceKind) -> Result<Self, EmuError> {
        match kind {
            DeviceKind::Tun => Tun::create(name).map(Self::Tun),
            DeviceKind::Packet => PacketSocket::create(name).map(Self::Packet),
        }
    }

    /// Creates a device whose TCP comes in bundles of packets; only a TUN device can.
    pub(crate) fn create_bundling(name: &str) -> Result<Self, EmuError> {
        Tun::create_bundling(name).map(Self::Tun)
    }

    /// Bytes before every packet, of what is read and of what is to be written, that are not its own.
    pub(crate) fn header(&self) -> usize {
        match self {
            Self::Tun(tun) => tun.header(),
            Self::Packet(_) => 0,
        }
    }

    /// The next packet, if one is waiting.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tun(tun) => tun.read(buffer),
            Self::Packet(socket) => socket.read(buffer),
        }
    }

    /// The kernel's thread that takes what is written, if there is one.
    pub(crate) fn taker(&self) -> Option<Pid> {
        match self {
            Self::Tun(tun) => tun.taker(),
            Self::Packet(_) => None,
        }
    }

    /// Whether [`Device::write`] itself takes hardly longer than copying a packet; else it runs the host's network stack.
    pub(crate) fn is_quick(&self) -> bool {
        self.taker().is_some()
    }

    /// Hands a packet to the host at this end.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.write(packet),
            Self::Packet(socket) => socket.write(packet),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Packet(socket) => socket.as_fd(),
        }
    }
}
