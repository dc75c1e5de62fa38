//! Waits for packets at any number of devices, to the nanosecond (epoll(7) with ppoll(2)'s timeout).

use super::remote::Commands;
use super::segment::Ends;
use super::sleep::Nap;
use crate::clock::Clock;
use crate::device::Device;
use farhop_link::Port;
use farhop_units::Instant;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::AsFd;

/// A device that has packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ready {
    /// Place of its link among the driver's.
    pub(super) segment: usize,
    pub(super) port: Port,
}

/// The devices.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: Epoll,
    /// By the number that epoll gives back.
    places: Vec<Ready>,
    events: Vec<EpollEvent>,
}

impl Poller {
    pub(super) fn new(ends: &[Ends]) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut places = Vec::new();
        for (segment, ends) in ends.iter().enumerate() {
            for port in ends.ports() {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, places.len() as u64);
                epoll.add(ends.device(port), event)?;
                places.push(Ready { segment, port });
            }
        }
        let events = vec![EpollEvent::empty(); places.len()];
        Ok(Self { epoll, places, events })
    }

    /// Waits and gives the devices that have packets; whether there are commands, and when the wait ended.
    pub(super) fn wait(
        &mut self,
        commands: &Commands,
        nap: Nap,
        clock: Clock,
        ready: &mut Vec<Ready>,
    ) -> (bool, Instant) {
        let called = PollFd::new(commands.as_fd(), PollFlags::POLLIN);
        let packets = PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN);
        let mut events = [called, packets];
        let heard = if nap.deaf { &mut events[..1] } else { &mut events[..] };
        // An interrupted wait is a short wait.
        let _ = ppoll(heard, nap.span.map(TimeSpec::from_duration), None);
        let ended = clock.now();
        let is_called = heard[0].any() == Some(true);
        if heard.get(1).is_some_and(|packets| packets.any() == Some(false)) {
            return (is_called, ended);
        }
        let count = self.epoll.wait(&mut self.events, EpollTimeout::ZERO).unwrap_or(0);
        let places = self.events[..count].iter().filter_map(|event| self.places.get(event.data() as usize));
        ready.extend(places);
        (is_called, ended)
    }

    /// Waits no longer for packets of a device.
    pub(super) fn forget(&mut self, device: &Device) {
        // It may be gone already.
        let _ = self.epoll.delete(device);
    }
}
