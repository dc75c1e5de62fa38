//! The transmitter: one packet at a time, bits leave at the rate.
//!
//! A packet of `B` bytes at rate `R` (bit/s) occupies the serializer for `8·B/R` seconds, in general not a whole number
//! of nanoseconds. The exact end of service is kept as whole nanoseconds plus a fraction of denominator `R`, and the next
//! packet of a busy period starts there; only the event is rounded up to the next nanosecond. So `n` packets back to back
//! end when one packet of their total size would, whatever `n`.
//!
//! A change of rate takes effect with the next packet: a modem changes its modulation between frames, not within one.
//! Left out: framing overhead, a token bucket's burst.

use crate::Count;
use crate::packet::Slot;
use farhop_units::{Bytes, Instant, Rate};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A transmitter of constant rate; `None` transmits in no time.
#[derive(Debug)]
pub(crate) struct Serializer<P> {
    rate: Option<Rate>,
    in_service: Option<Slot<P>>,
    /// When service ends, rounded up.
    finish: Instant,
    /// How far into the nanosecond before `finish` the exact end lies, in 1/rate ns; 0 if `finish` is exact.
    fraction: u64,
}

impl<P> Serializer<P> {
    /// An idle transmitter.
    pub(crate) fn new(rate: Option<Rate>) -> Self {
        Self { rate, in_service: None, finish: Instant::START, fraction: 0 }
    }

    /// Whether no packet is in service.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_service.is_none()
    }

    /// Begins a busy period at `now`.
    pub(crate) fn start(&mut self, now: Instant, slot: Slot<P>) {
        debug_assert!(self.is_idle(), "one packet at a time");
        self.finish = now;
        self.fraction = 0;
        self.serve(slot);
    }

    /// Ends the service in progress and goes on with `next` without a gap, or rests.
    pub(crate) fn finish(&mut self, next: Option<Slot<P>>) -> Option<Slot<P>> {
        let done = self.in_service.take();
        if let Some(slot) = next {
            self.serve(slot);
        }
        done
    }

    /// When the packet in service will be done, and its number.
    pub(crate) fn next_finish(&self) -> Option<(Instant, u64)> {
        self.in_service.as_ref().map(|slot| (self.finish, slot.number))
    }

    /// Changes the rate from the next packet on. The fraction of a nanosecond that was in units of the old rate is
    /// rounded up, once per change.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        if self.rate != rate {
            self.rate = rate;
            self.fraction = 0;
        }
    }

    /// What is in service.
    pub(crate) fn count(&self) -> Count {
        self.in_service.as_ref().map_or(Count::default(), |slot| Count { packets: 1, bytes: slot.bytes })
    }

    /// Puts `slot` into service at the exact end of the last one.
    fn serve(&mut self, slot: Slot<P>) {
        if let Some(rate) = self.rate {
            (self.finish, self.fraction) = exact_end(self.finish, self.fraction, slot.bytes, rate);
        }
        self.in_service = Some(slot);
    }
}

/// The end of `bytes` sent at `rate` from (`start`, `fraction`), in the same form: a whole number of nanoseconds, rounded
/// up, and how much of the last one is used.
fn exact_end(start: Instant, fraction: u64, bytes: Bytes, rate: Rate) -> (Instant, u64) {
    let bits_per_second = rate.bits_per_second();
    let floor = start.as_nanos() - u64::from(fraction > 0);
    let (nanos, fraction) = match bytes.get().checked_mul(8 * NANOS_PER_SECOND).and_then(|n| n.checked_add(fraction)) {
        Some(work) => (work / bits_per_second, work % bits_per_second),
        None => divide_wide(bytes, fraction, bits_per_second),
    };
    let end = floor.saturating_add(nanos).saturating_add(u64::from(fraction > 0));
    (Instant::from_nanos(end), fraction)
}

/// The same division for what does not fit 64 bits: packets above 2.3 GB or rates above 2^63 bit/s.
#[cold]
fn divide_wide(bytes: Bytes, fraction: u64, bits_per_second: u64) -> (u64, u64) {
    let work = u128::from(bytes.get()) * u128::from(8 * NANOS_PER_SECOND) + u128::from(fraction);
    let rate = u128::from(bits_per_second);
    let rest = u64::try_from(work % rate).expect("a remainder is below its 64-bit divisor");
    (u64::try_from(work / rate).unwrap_or(u64::MAX), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use proptest::prelude::*;
    use std::time::Duration;

    fn slot(bytes: u64) -> Slot<()> {
        Slot { number: 0, bytes: Bytes::new(bytes), entered: Port::Gateway, packet: () }
    }

    fn finish_time(serializer: &Serializer<()>) -> Instant {
        serializer.next_finish().expect("a packet is in service").0
    }

    fn micros(count: u64) -> Instant {
        Instant::START + Duration::from_micros(count)
    }

    #[test]
    fn an_unlimited_rate_takes_no_time() {
        let mut serializer = Serializer::new(None);
        serializer.start(micros(7), slot(1500));
        assert_eq!(finish_time(&serializer), micros(7));
        assert!(serializer.finish(Some(slot(1500))).is_some());
        assert_eq!(finish_time(&serializer), micros(7));
    }

    #[test]
    fn the_packet_in_service_finishes_at_its_old_rate() {
        let mut serializer = Serializer::new(Some(Rate::mbps(100)));
        serializer.start(micros(0), slot(1500));
        serializer.set_rate(Some(Rate::mbps(10)));
        assert_eq!(finish_time(&serializer), micros(120));
        serializer.finish(Some(slot(1500)));
        assert_eq!(finish_time(&serializer), micros(1320));
        serializer.set_rate(None);
        serializer.finish(Some(slot(1500)));
        assert_eq!(finish_time(&serializer), micros(1320));
    }

    #[test]
    fn a_change_of_rate_rounds_a_started_nanosecond_up() {
        // One byte takes 2 2/3 ns at 3 Gbit/s and 8 ns at 1 Gbit/s.
        let mut serializer = Serializer::new(Some(Rate::mbps(3000)));
        serializer.start(Instant::START, slot(1));
        serializer.set_rate(Some(Rate::mbps(1000)));
        serializer.finish(Some(slot(1)));
        assert_eq!(finish_time(&serializer), Instant::from_nanos(3 + 8));
    }

    #[test]
    fn what_ends_after_the_end_of_time_ends_there() {
        let mut serializer = Serializer::new(Rate::from_bits_per_second(1));
        serializer.start(micros(1), slot(u64::MAX));
        assert_eq!(finish_time(&serializer), Instant::from_nanos(u64::MAX));
    }

    proptest! {
        #[test]
        fn packets_back_to_back_end_when_one_of_their_size_would(
            bits in 1_u64.., start in 0_u64..1 << 60, sizes in proptest::collection::vec(0_u64..1 << 32, 1..50),
        ) {
            let rate = Rate::from_bits_per_second(bits).expect("above zero");
            let start = Instant::from_nanos(start);
            let mut serializer = Serializer::new(Some(rate));
            let mut sent = Bytes::ZERO;
            for (index, &bytes) in sizes.iter().enumerate() {
                if index == 0 {
                    serializer.start(start, slot(bytes));
                } else {
                    serializer.finish(Some(slot(bytes)));
                }
                sent += Bytes::new(bytes);
                let expected = start + rate.transmission_time(sent);
                prop_assume!(expected.as_nanos() < u64::MAX);
                prop_assert_eq!(finish_time(&serializer), expected);
            }
        }
    }
}
