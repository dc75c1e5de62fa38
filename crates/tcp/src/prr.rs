//! Proportional rate reduction (RFC 9937, before: RFC 6937), as Linux's tcp_cwnd_reduction() does it.
//!
//! While the window shrinks after a loss, transmissions are spread over the acknowledgements in the ratio in which the window is
//! to shrink; below the target the window grows again at most as fast as data is delivered (conservative bound), or by one segment
//! faster while each acknowledgement brings progress and no further loss (slow-start bound).

use farhop_units::Bytes;

/// One reduction of the window.
#[derive(Debug, Clone)]
pub(crate) struct RateReduction {
    mss: Bytes,
    /// What shares are rounded up to: Linux counts segments, the RFC bytes.
    unit: Bytes,
    /// The window before (RecoverFS) and the window to reach (ssthresh).
    from: Bytes,
    to: Bytes,
    /// prr_delivered and prr_out.
    delivered: Bytes,
    sent: Bytes,
}

/// What an acknowledgement brought.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) delivered: Bytes,
    pub(crate) in_flight: Bytes,
    /// It acknowledged data by number and showed no further loss (SafeACK).
    pub(crate) safe: bool,
}

impl RateReduction {
    pub(crate) fn new(mss: Bytes, unit: Bytes, (from, to): (Bytes, Bytes)) -> Self {
        Self { mss, unit, from: from.max(mss), to, delivered: Bytes::ZERO, sent: Bytes::ZERO }
    }

    /// The window to reach.
    pub(crate) fn target(&self) -> Bytes {
        self.to
    }

    /// The window to reach is this now: slow start has ended there, though the repair goes on.
    pub(crate) fn aim(&mut self, to: Bytes) {
        self.to = to;
    }

    /// Something is sent.
    pub(crate) fn send(&mut self, bytes: Bytes) {
        self.sent += bytes;
    }

    /// The window after an acknowledgement (§6.2); `None` leaves it as it is.
    pub(crate) fn window(&mut self, ack: Delivery) -> Option<Bytes> {
        if ack.delivered == Bytes::ZERO {
            return None;
        }
        self.delivered += ack.delivered;
        let more = if ack.in_flight > self.to {
            let share = u128::from(self.delivered.get()) * u128::from(self.to.get());
            let unit = self.unit.get();
            let units = share.div_ceil(u128::from(self.from.get()) * u128::from(unit));
            (self.unit * u64::try_from(units).unwrap_or(u64::MAX / unit)).saturating_sub(self.sent)
        } else {
            let extra = if ack.safe { self.mss } else { Bytes::ZERO };
            let limit = self.delivered.saturating_sub(self.sent).max(ack.delivered) + extra;
            limit.min(self.to - ack.in_flight)
        };
        // The first repetition leaves at once.
        let least = if self.sent == Bytes::ZERO { self.mss } else { Bytes::ZERO };
        Some(ack.in_flight + more.max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: Bytes = Bytes::new(1000);

    fn ack(segments: u64, in_flight: u64, safe: bool) -> Delivery {
        Delivery { delivered: MSS * segments, in_flight: MSS * in_flight, safe }
    }

    /// Acknowledges one of `in_flight` segments at a time and sends what the window allows; gives what was sent after each.
    fn sent_per_ack(reduction: &mut RateReduction, mut in_flight: u64, acks: u32) -> Vec<u64> {
        let step = |_| {
            in_flight = in_flight.saturating_sub(1);
            let window = reduction.window(ack(1, in_flight, true)).expect("something was delivered");
            let sent = (window.get() / MSS.get()).saturating_sub(in_flight);
            reduction.send(MSS * sent);
            in_flight += sent;
            sent
        };
        (0..acks).map(step).collect()
    }

    #[test]
    fn half_a_window_means_one_transmission_for_two_deliveries() {
        let mut reduction = RateReduction::new(MSS, MSS, (MSS * 20, MSS * 10));
        let sent = sent_per_ack(&mut reduction, 19, 18);
        assert_eq!(sent[0], 1, "the first repetition leaves at once");
        assert_eq!(sent.iter().sum::<u64>(), 9, "{sent:?}");
        assert!(sent.iter().all(|sent| *sent <= 1), "{sent:?}");
    }

    #[test]
    fn shares_of_segments_are_rounded_up() {
        for (unit, window) in [(MSS, 5000), (Bytes::new(1), 4800)] {
            let mut reduction = RateReduction::new(MSS, unit, (MSS * 5, MSS * 3));
            reduction.send(MSS);
            // Three fifths of three segments, of which one has been sent.
            assert_eq!(reduction.window(ack(3, 4, true)), Some(Bytes::new(window)));
        }
    }

    #[test]
    fn after_heavy_losses_the_window_grows_back_as_in_slow_start_or_only_as_data_is_delivered() {
        for (safe, grown) in [(true, 2), (false, 1)] {
            let mut reduction = RateReduction::new(MSS, MSS, (MSS * 20, MSS * 10));
            reduction.send(MSS);
            assert_eq!(reduction.window(ack(1, 3, safe)), Some(MSS * (3 + grown)));
        }
    }

    #[test]
    fn an_acknowledgement_that_delivers_nothing_changes_nothing() {
        assert_eq!(RateReduction::new(MSS, MSS, (MSS * 20, MSS * 10)).window(ack(0, 5, true)), None);
    }

    proptest! {
        #[test]
        fn the_window_never_exceeds_what_it_was_and_ends_at_the_target(from in 2_u64..200, share in 0.3_f64..0.9) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few segments")]
            let to = ((from as f64 * share) as u64).max(2).min(from);
            let mut reduction = RateReduction::new(MSS, Bytes::new(1), (MSS * from, MSS * to));
            let mut in_flight = from;
            for _ in 0..from {
                in_flight = in_flight.saturating_sub(1);
                let window = reduction.window(ack(1, in_flight, true)).expect("something was delivered");
                let sent = (window.get() / 1000).saturating_sub(in_flight);
                reduction.send(MSS * sent);
                in_flight += sent;
                prop_assert!(in_flight <= from);
            }
            prop_assert!(in_flight.abs_diff(to) <= 1, "{} instead of {}", in_flight, to);
        }
    }
}
