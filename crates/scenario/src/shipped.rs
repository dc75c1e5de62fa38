//! The scenarios that come with the program, compiled in.

/// A scenario that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

/// Scenarios that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// What they have in common, for people.
    pub title: &'static str,
    /// Its scenarios, in the order in which they are listed.
    pub scenarios: &'static [Shipped],
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) },)*]
    };
}

/// All of them, in the order in which they are listed.
pub const GROUPS: &[Group] = &[
    Group { title: "To begin with", scenarios: shipped!["demo", "demo-http10"] },
    Group {
        title: "Satellites and cables of today",
        scenarios: shipped!["geo-consumer", "inflight-geo", "starlink", "transpacific", "office"],
    },
    Group {
        title: "Satellite links to test transports with (draft-kuhn-quic-4-sat)",
        scenarios: shipped![
            "quic4sat-10-2",
            "quic4sat-50-10",
            "quic4sat-50-0.5",
            "quic4sat-250-3",
            "quic4sat-variable",
            "quic4sat-10-2-lossy",
            "quic4sat-50-10-lossy",
            "quic4sat-50-0.5-lossy",
            "quic4sat-250-3-lossy",
        ],
    },
    Group {
        title: "Networks of published experiments",
        scenarios: shipped!["obata-2002", "vsat-2001", "vsat-2002", "nz-us", "nz-us-log", "rwbp-128", "train-2013"],
    },
    Group { title: "Beyond Earth", scenarios: shipped!["lunar", "mars"] },
];

/// Files that shipped scenarios refer to, by the path they use.
const FILES: &[(&str, &str)] = &[
    ("logs/nz-us.log", include_str!("../../../scenarios/logs/nz-us.log")),
    ("logs/nz-us.hosts", include_str!("../../../scenarios/logs/nz-us.hosts")),
    ("pages/page-2013.csv", include_str!("../../../scenarios/pages/page-2013.csv")),
    ("pages/page-2025.csv", include_str!("../../../scenarios/pages/page-2025.csv")),
    ("traces/quic4sat-variable.csv", include_str!("../../../scenarios/traces/quic4sat-variable.csv")),
];

/// All scenarios, group by group.
pub fn all() -> impl Iterator<Item = Shipped> {
    GROUPS.iter().flat_map(|group| group.scenarios.iter().copied())
}

/// The shipped scenario called `name`.
pub fn find(name: &str) -> Option<Shipped> {
    all().find(|shipped| shipped.name == name)
}

/// The text of the shipped file at `path`.
pub(crate) fn file(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}
