//! The one-way propagation delay of a direction, by the run's clock.
//!
//! It is the trace's delay at that time, where the trace has one, else the direction's own; and to it comes an orbit's
//! path. What a packet meets is the delay at the instant at which it enters the pipe: the path does not change under
//! it. Left out: delays that depend on the packet (jitter, reordering), which are stages of their own.

use crate::orbit::Path;
use crate::{DirectionConfig, Trace, TraceEnd, TraceRecord};
use farhop_units::Instant;
use std::sync::Arc;
use std::time::Duration;

/// The delay of a direction.
#[derive(Debug)]
pub(crate) struct Delay {
    own: Duration,
    recorded: Option<Recorded>,
    path: Option<Box<Path>>,
}

impl Delay {
    /// The delay that a configuration describes.
    pub(crate) fn new(config: &DirectionConfig) -> Self {
        Self {
            own: config.delay,
            recorded: config.trace.as_ref().and_then(Recorded::new),
            path: config.orbit.as_ref().map(|orbit| Box::new(Path::new(orbit))),
        }
    }

    /// The delay of a packet that enters the pipe at `entry`.
    pub(crate) fn at(&self, entry: Instant) -> Duration {
        let recorded = self.recorded.as_ref().and_then(|recorded| recorded.at(entry));
        let fixed = recorded.unwrap_or(self.own);
        self.path.as_ref().map_or(fixed, |path| fixed.saturating_add(path.delay(entry)))
    }

    /// The delay of all packets, whenever they enter.
    pub(crate) fn constant(&self) -> Option<Duration> {
        (self.recorded.is_none() && self.path.is_none()).then_some(self.own)
    }

    /// Changes the delay of packets that enter from now on; record and path stay by the run's clock.
    pub(crate) fn set(&mut self, config: &DirectionConfig) {
        *self = Self::new(config);
    }
}

/// A trace with at least one delay.
#[derive(Debug)]
struct Recorded {
    record: Arc<TraceRecord>,
    /// The time after which it begins again; `None` if its last delay stays.
    period: Option<u64>,
}

impl Recorded {
    /// `None` if the trace has no delay at all.
    fn new(trace: &Trace) -> Option<Self> {
        let TraceRecord::Steps { steps, length } = &*trace.record else { return None };
        steps.iter().find(|step| step.delay.is_some())?;
        let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let period = (trace.end == TraceEnd::Repeat && length > 0).then_some(length);
        Some(Self { record: Arc::clone(&trace.record), period })
    }

    /// The delay at that time, if the record has one.
    fn at(&self, time: Instant) -> Option<Duration> {
        let TraceRecord::Steps { steps, .. } = &*self.record else { return None };
        let nanos = self.period.map_or(time.as_nanos(), |period| time.as_nanos() % period);
        let now = Duration::from_nanos(nanos);
        let next = steps.partition_point(|step| step.at <= now);
        steps.get(next.checked_sub(1)?)?.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn config(own: Duration, end: TraceEnd, orbit: Option<&str>) -> DirectionConfig {
        let text = "time_s,rate_mbit_s,delay_ms\n0,1,30\n1,1,\n2,1,50\n3,end";
        let trace = Some(Trace::new(TraceRecord::from_csv(text).unwrap(), end));
        let orbit = orbit.map(|text| text.parse().unwrap());
        DirectionConfig { delay: own, trace, orbit, ..Default::default() }
    }

    fn delay(own: Duration, end: TraceEnd, orbit: Option<&str>) -> Delay {
        Delay::new(&config(own, end, orbit))
    }

    fn seen(delay: &Delay) -> [u128; 6] {
        [0, 999, 1000, 2000, 3000, 4000].map(|at| delay.at(Instant::START + millis(at)).as_millis())
    }

    #[test]
    fn a_trace_takes_the_place_of_the_directions_own_delay_where_it_has_one() {
        assert_eq!(seen(&delay(millis(7), TraceEnd::Repeat, None)), [30, 30, 7, 50, 30, 7]);
        assert_eq!(seen(&delay(millis(7), TraceEnd::Hold, None)), [30, 30, 7, 50, 50, 50]);
    }

    #[test]
    fn an_orbit_adds_its_path() {
        let orbit = Some("geo elevation=90deg");
        assert_eq!(seen(&delay(millis(7), TraceEnd::Repeat, orbit)), [268, 268, 245, 288, 268, 245]);
        let leo = delay(Duration::MAX, TraceEnd::Hold, Some("leo altitude=550km elevation=25deg"));
        assert_eq!(leo.at(Instant::START + millis(1000)), Duration::MAX, "the longest delay there is");
    }

    #[test]
    fn changes_count_from_now_on() {
        let mut delay = delay(millis(7), TraceEnd::Repeat, Some("geo elevation=90deg"));
        delay.set(&config(millis(9), TraceEnd::Repeat, None));
        assert_eq!(seen(&delay), [30, 30, 9, 50, 30, 9]);
        delay.set(&DirectionConfig { delay: millis(9), ..Default::default() });
        assert_eq!(seen(&delay), [9; 6]);
    }
}
