//! What lies between one place and the next: nothing, lanes, or channels that are played.

use super::parcel::{Parcel, Place, Side};
use crate::wake::Wake;
use farhop_link::{Access, Channel, ChannelConfig, Direction, DirectionConfig, Discipline, Lanes};
use farhop_scenario::seeds::{self, ChannelName};
use farhop_units::Instant;

/// All channels of one kind, by the place at their clients' side.
#[derive(Debug)]
pub(super) struct Span {
    /// Of the ways down and of those up.
    forms: [Form; 2],
    /// Does passing count as a hop, down and up?
    hops: [u64; 2],
    /// Do packets go on into it at once from lanes before it?
    follows: [bool; 2],
    /// Do some packets have priority over others?
    has_classes: bool,
}

/// How one direction of channels does what it does.
#[derive(Debug)]
pub(super) enum Form {
    /// It constrains nothing, and is passed over.
    Nothing,
    /// It only queues, serializes and delays.
    Lanes(Lanes),
    /// It is played; the first channel has this place among the stages.
    Stages(u32),
}

/// A channel that is played.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) channel: Channel<Parcel>,
    /// Which span it is of.
    pub(super) span: usize,
    /// When a wake-up is scheduled, if one is.
    pub(super) wake: Wake,
}

impl Span {
    /// Passed over.
    pub(super) const NOTHING: Self =
        Self { forms: [Form::Nothing, Form::Nothing], hops: [0, 0], follows: [false; 2], has_classes: false };

    /// Channels of this configuration. Those for which something must be played are added to `stages`.
    pub(super) fn new(place: Place, config: &ChannelConfig, channels: &Channels, stages: &mut Vec<Stage>) -> Self {
        let passing =
            Self { hops: [hops(&config.down), hops(&config.up)], has_classes: channels.has_classes, ..Self::NOTHING };
        if config.is_transparent() {
            return Self::NOTHING;
        }
        let lanes =
            Direction::BOTH.map(|direction| lanes_of(config, direction, (channels.count, channels.has_classes)));
        if let [Some(down), Some(up)] = lanes {
            return Self { forms: [Form::Lanes(down), Form::Lanes(up)], ..passing };
        }
        let first = u32::try_from(stages.len()).expect("there are fewer channels");
        stages.extend((0..channels.count).map(|copy| Stage::new(place, config, channels.seed_of(copy))));
        let mut span = passing;
        span.play(first);
        span
    }

    /// Both directions are played, from this stage on.
    pub(super) fn play(&mut self, first: u32) {
        self.forms = [Form::Stages(first), Form::Stages(first)];
    }

    /// What only queues, serializes and delays in one direction need not be played there because the other one must be. Nothing has been
    /// sent yet.
    pub(super) fn lay_lanes(&mut self, stages: &[Stage]) {
        for (direction, form) in Direction::BOTH.into_iter().zip(&mut self.forms) {
            let Form::Stages(first) = *form else { continue };
            let Stage { channel, span, .. } = &stages[first as usize];
            let count = stages.iter().filter(|stage| stage.span == *span).count();
            let all = (u32::try_from(count).unwrap_or(u32::MAX), self.has_classes);
            if let Some(lanes) = lanes_of(channel.config(), direction, all) {
                *form = Form::Lanes(lanes);
            }
        }
    }

    /// How this direction does what it does.
    pub(super) const fn form(&self, direction: Direction) -> &Form {
        &self.forms[direction as usize]
    }

    /// The same, to be used.
    pub(super) const fn form_mut(&mut self, direction: Direction) -> &mut Form {
        &mut self.forms[direction as usize]
    }

    /// What waits in lanes is known at any time.
    pub(super) fn counting(&mut self) {
        for form in &mut self.forms {
            if let Form::Lanes(lanes) = form {
                lanes.count();
            }
        }
    }

    /// Hops that a packet makes by passing.
    pub(super) const fn hops(&self, direction: Direction) -> u64 {
        self.hops[direction as usize]
    }

    /// Whether there are lanes in this direction, and more than one.
    pub(super) fn has_many_lanes(&self, direction: Direction) -> bool {
        matches!(self.form(direction), Form::Lanes(lanes) if lanes.are_many())
    }

    /// From now on packets go on into it at once from lanes before it, if it is made of such.
    pub(super) const fn follow(&mut self, direction: Direction) {
        self.follows[direction as usize] = matches!(self.form(direction), Form::Lanes(_));
    }

    /// Whether packets from this side go on into it at once.
    pub(super) const fn follows(&self, from: Side) -> bool {
        self.follows[from.direction() as usize]
    }
}

fn hops(direction: &DirectionConfig) -> u64 {
    (direction.rate.is_some() || direction.trace.is_some() || !direction.least_delay().is_zero()).into()
}

/// How many channels there are of a kind, and which.
pub(super) struct Channels {
    pub(super) count: u32,
    pub(super) seed: u64,
    pub(super) name: fn(u32) -> ChannelName,
    /// Do some packets have priority over others?
    pub(super) has_classes: bool,
}

impl Channels {
    /// Each channel rolls its own dice, those that it has in the emulator too.
    pub(super) fn seed_of(&self, copy: u32) -> u64 {
        seeds::of_channel(self.seed, (self.name)(copy))
    }
}

impl Stage {
    pub(super) fn new(place: Place, config: &ChannelConfig, seed: u64) -> Self {
        Self { channel: Channel::new(config.clone(), seed), span: place as usize, wake: Wake::default() }
    }

    /// When to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(super) fn rearm(&mut self) -> Option<Instant> {
        self.wake.arm(self.channel.next_timeout())
    }
}

/// One direction of channels of one kind, of so many: down, one lane for all terminals of a channel, and up, one for each; `None` if something
/// must be played, as classes are where some go before others.
fn lanes_of(config: &ChannelConfig, direction: Direction, (channels, has_classes): (u32, bool)) -> Option<Lanes> {
    if has_classes && direction.of(config).discipline == Discipline::Priority {
        return None;
    }
    if direction == Direction::Up && config.access != Access::Dedicated {
        return None;
    }
    let each = match direction {
        Direction::Down => 1,
        Direction::Up => config.terminals.max(1),
    };
    Lanes::of(direction.of(config), channels as usize * usize::from(each))
}

/// The place on the other side of the span at `place`, the number of that span, and the direction.
pub(super) fn ahead(place: Place, from: Side) -> (Place, usize) {
    match (from, place) {
        (Side::Near, Place::Client) => (Place::Terminal, LAN),
        (Side::Near, Place::Terminal) => (Place::Gateway, FAR),
        (Side::Near, Place::Gateway | Place::Server) => (Place::Server, WAN),
        (Side::Far, Place::Server) => (Place::Gateway, WAN),
        (Side::Far, Place::Gateway) => (Place::Terminal, FAR),
        (Side::Far, Place::Terminal | Place::Client) => (Place::Client, LAN),
    }
}

/// The spans, by the place at their near side.
pub(super) const LAN: usize = Place::Client as usize;
pub(super) const FAR: usize = Place::Terminal as usize;
pub(super) const WAN: usize = Place::Gateway as usize;
