//! What the far link carried during a load, in equal intervals, out of the emulator's packet log.
//!
//! Bits are counted when they leave the link, IP headers included. The last interval is as long as the others and may reach beyond the
//! load's end.

use farhop_link::replay::Recorded;
use farhop_link::{Output, Port};
use farhop_results::LinkSample;
use farhop_units::{Bytes, Instant};
use std::time::Duration;

/// Shortest interval: fine enough to see rounds of a 250 ms link, coarse enough to hold some 200 packets at 100 Mbit/s.
const SPAN: Duration = Duration::from_millis(25);
/// More intervals than this no plot shows.
const MOST: u32 = 400;

/// The intervals from `started` to `ended`.
pub(crate) fn link_samples(outputs: &[Output<Recorded>], started: Instant, ended: Instant) -> Vec<LinkSample> {
    let span = span_of(ended - started);
    let mut carried = vec![(Bytes::ZERO, Bytes::ZERO); intervals(ended - started, span)];
    for output in outputs {
        let Output::Deliver { at, port, packet } = output else { continue };
        if *at < started {
            continue;
        }
        let place = usize::try_from((*at - started).as_nanos() / span.as_nanos());
        if let Some((down, up)) = place.ok().and_then(|place| carried.get_mut(place)) {
            // A packet that leaves at the terminal has come down.
            let way = if *port == Port::Gateway { up } else { down };
            *way += packet.bytes;
        }
    }
    (0..).zip(carried).map(|(place, (down, up))| sample(span * place, span, down, up)).collect()
}

fn sample(start: Duration, span: Duration, down: Bytes, up: Bytes) -> LinkSample {
    let span_s = span.as_secs_f64();
    LinkSample {
        start_s: start.as_secs_f64(),
        span_s,
        down_bit_s: down.bits_f64() / span_s,
        up_bit_s: up.bits_f64() / span_s,
    }
}

/// A multiple of the shortest interval that gives few enough of them.
fn span_of(load: Duration) -> Duration {
    let multiple = load.as_nanos().div_ceil((SPAN * MOST).as_nanos()).max(1);
    SPAN * u32::try_from(multiple).unwrap_or(u32::MAX)
}

fn intervals(load: Duration, span: Duration) -> usize {
    usize::try_from(load.as_nanos().div_ceil(span.as_nanos())).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_link::DropReason;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn delivery(millis: u64, port: Port) -> Output<Recorded> {
        Output::Deliver { at: at(millis), port, packet: Recorded::new(0, Bytes::new(1250)) }
    }

    #[test]
    fn deliveries_count_in_their_interval_and_direction_and_drops_do_not() {
        let terminal = Port::Terminal(0);
        let packet = Recorded::new(0, Bytes::new(1250));
        let outputs = [
            delivery(90, terminal),
            delivery(100, terminal),
            delivery(124, terminal),
            delivery(125, Port::Gateway),
            Output::Drop { at: at(130), port: Port::Gateway, packet, reason: DropReason::QueueFull },
            delivery(160, terminal),
        ];
        let samples = link_samples(&outputs, at(100), at(140));
        let rates: Vec<_> = samples.iter().map(|sample| (sample.start_s, sample.down_bit_s, sample.up_bit_s)).collect();
        // 10 kbit in 25 ms are 400 kbit/s.
        assert_eq!(rates, [(0.0, 800_000.0, 0.0), (0.025, 0.0, 400_000.0)]);
    }

    #[test]
    fn long_loads_have_longer_intervals_instead_of_more() {
        for seconds in [1, 10, 11, 49, 6000] {
            let load = Duration::from_secs(seconds);
            let count = intervals(load, span_of(load));
            assert!(count <= MOST as usize && count >= 40, "{seconds} s: {count}");
        }
        assert_eq!(span_of(Duration::from_secs(10)), SPAN);
    }

    #[test]
    fn a_load_of_no_time_has_no_intervals() {
        assert_eq!(link_samples(&[], at(5), at(5)), []);
    }
}
