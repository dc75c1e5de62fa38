//! A scenario's path in a few words, for lists.

use crate::Scenario;
use farhop_link::{ChannelConfig, DirectionConfig, LossModel, Orbit, Trace, TraceRecord};
use farhop_units::Rate;
use std::time::Duration;

/// What one asks of a path first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// Rates of the far link down and up: `50/5 Mbit/s`.
    pub rate: String,
    /// Round trip between client and server without queues: `604 ms`.
    pub round_trip: String,
    /// Loss of the far link: `1 %`.
    pub loss: String,
}

impl Scenario {
    /// The path in a few words.
    pub fn brief(&self) -> Brief {
        let ChannelConfig { down, up, .. } = &self.link;
        Brief { rate: rates(down, up), round_trip: self.round_trip(), loss: losses(down, up) }
    }

    fn round_trip(&self) -> String {
        let channels = [&self.lan, &self.link, &self.wan];
        let total = channels.into_iter().map(ChannelConfig::rtt).fold(Duration::ZERO, Duration::saturating_add);
        let from =
            if channels.into_iter().any(|channel| varies(&channel.down) || varies(&channel.up)) { "from " } else { "" };
        format!("{from}{}", time(total))
    }
}

/// Whether packets meet other delays than the least.
fn varies(way: &DirectionConfig) -> bool {
    let has_delays = |trace: &Trace| match &*trace.record {
        TraceRecord::Steps { steps, .. } => steps.iter().any(|step| step.delay.is_some()),
        TraceRecord::Opportunities { .. } => false,
    };
    way.trace.as_ref().is_some_and(has_delays) || matches!(way.orbit, Some(Orbit::LowEarth { .. }))
}

/// `50/0.5 Mbit/s`, in the unit of the higher one.
fn rates(down: &DirectionConfig, up: &DirectionConfig) -> String {
    let highest = [down, up].into_iter().filter(|way| way.trace.is_none()).filter_map(|way| way.rate).max();
    let Some(highest) = highest else { return format!("{}/{}", rate(down, None), rate(up, None)) };
    let text = highest.to_string();
    let unit = text.rsplit(' ').next().unwrap_or_default();
    let scale = format!("1 {unit}").parse().ok();
    format!("{}/{} {unit}", rate(down, scale), rate(up, scale))
}

/// The rate of one direction, in units of `scale`.
fn rate(way: &DirectionConfig, scale: Option<Rate>) -> String {
    match (&way.trace, way.rate) {
        (Some(_), _) => "recorded".to_owned(),
        (None, Some(rate)) => (rate.as_f64() / scale.map_or(1.0, Rate::as_f64)).to_string(),
        (None, None) => "unlimited".to_owned(),
    }
}

/// In milliseconds, or where these would be many, in seconds.
fn time(span: Duration) -> String {
    const MANY: Duration = Duration::from_secs(10);
    if span < MANY { format!("{:.0} ms", span.as_secs_f64() * 1e3) } else { format!("{:.0} s", span.as_secs_f64()) }
}

fn losses(down: &DirectionConfig, up: &DirectionConfig) -> String {
    let (down, up) = (loss(down.loss), loss(up.loss));
    match (down.as_str(), up.as_str()) {
        (down, up) if down == up => down.to_owned(),
        (down, "none") => format!("{down} down"),
        ("none", up) => format!("{up} up"),
        (down, up) => format!("{down} down, {up} up"),
    }
}

fn loss(model: LossModel) -> String {
    match model {
        LossModel::None => "none".to_owned(),
        LossModel::Bernoulli(probability) => probability.to_string(),
        LossModel::BitErrors(_) => "bit errors".to_owned(),
        LossModel::GilbertElliott(_) => "bursts".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::open;

    fn brief(assignments: &[&str]) -> [String; 3] {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        let brief = open("obata-2002", &assignments).expect("a shipped scenario").brief();
        [brief.rate, brief.round_trip, brief.loss]
    }

    #[test]
    fn a_path_is_told_in_few_words() {
        assert_eq!(brief(&[]), ["2.048/0.9007 Mbit/s", "276 ms", "none"]);
        assert_eq!(
            brief(&["link.up.rate=2 Mbit/s", "wan.delay=20 s", "link.up.loss=1 %"]),
            ["2.048/2 Mbit/s", "40 s", "1 % up"]
        );
        let recorded = "link.down.trace=steps length=1s at=0s:1Mbit/s";
        assert_eq!(brief(&["link.down.rate=unlimited", recorded])[..2], ["recorded/900.7 kbit/s", "276 ms"]);
        let moving = "link.orbit=leo altitude=600km elevation=25deg";
        let bursts = ["link.down.loss=gilbert-elliott enter=1% leave=30%", "link.up.loss=1e-3"];
        assert_eq!(
            brief(&[moving, "link.down.rate=unlimited", bursts[0], bursts[1]]),
            ["unlimited/900.7 kbit/s", "from 284 ms", "bursts down, 0.1 % up"]
        );
    }
}
