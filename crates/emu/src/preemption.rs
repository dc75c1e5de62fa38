//! Whether a thread that must run at once is let run while another is in a system call.
//!
//! The link's thread has real-time priority, but a kernel that does not preempt (`preempt=none`, `CONFIG_PREEMPT_NONE`) lets a program's
//! system call end first. Beside programs that fill a link of 100 Mbit/s both ways that has made one packet in a hundred 0.6 ms late
//! (two virtual processors), fifteen times as late as one way.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::Read;

/// When the kernel lets another thread run (kernel documentation, `preempt=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preemption {
    /// When a system call ends, or waits.
    None,
    /// Where a system call offers it as well.
    Voluntary,
    /// At once for what has real-time priority.
    Full,
}

/// Tells the mode of a kernel that can change it, to those who may know.
const SWITCH: &str = "/sys/kernel/debug/sched/preempt";
const COMMAND_LINE: &str = "/proc/cmdline";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const CONFIGURATION: &str = "/proc/config.gz";
/// No kernel's configuration is as long: some 300 kB.
const LONGEST: u64 = 4 << 20;

impl Preemption {
    /// That of the running kernel, unless it keeps it to itself.
    pub(crate) fn find() -> Option<Self> {
        let read = |path: &str| fs::read_to_string(path).ok();
        read(SWITCH)
            .and_then(|text| Self::switched(&text))
            .or_else(|| Self::booted(&read(COMMAND_LINE)?))
            .or_else(|| Self::built(&configuration()?))
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "voluntary" => Some(Self::Voluntary),
            // Lazily means not for ordinary threads.
            "full" | "lazy" => Some(Self::Full),
            _ => None,
        }
    }

    /// From all modes' names, that of the present one in parentheses.
    fn switched(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|name| Self::named(name.strip_prefix('(')?.strip_suffix(')')?))
    }

    /// From what the kernel was started with: what comes last holds.
    fn booted(text: &str) -> Option<Self> {
        text.split_whitespace().rev().find_map(|word| Self::named(word.strip_prefix("preempt=")?))
    }

    /// From what it was built with.
    fn built(text: &str) -> Option<Self> {
        text.lines().find_map(|line| match line.strip_prefix("CONFIG_PREEMPT")?.strip_suffix("=y")? {
            "_NONE" => Some(Self::None),
            "_VOLUNTARY" => Some(Self::Voluntary),
            "" | "_LAZY" | "_RT" => Some(Self::Full),
            _ => None,
        })
    }
}

fn configuration() -> Option<String> {
    let mut text = String::new();
    if let Ok(file) = File::open(CONFIGURATION) {
        GzDecoder::new(file).take(LONGEST).read_to_string(&mut text).ok()?;
        return Some(text);
    }
    let release = fs::read_to_string(RELEASE).ok()?;
    let file = File::open(format!("/boot/config-{}", release.trim())).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::Preemption as P;

    #[test]
    fn kernels_tell_how_they_preempt() {
        let cases = [
            (P::switched("none (voluntary) full lazy\n"), Some(P::Voluntary)),
            (P::switched("none voluntary full (lazy)"), Some(P::Full)),
            (P::switched("none voluntary full"), None),
            (P::booted("quiet preempt=full ro preempt=none\n"), Some(P::None)),
            (P::booted("quiet nopreempt=none"), None),
            (P::built("# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_NONE=y\n"), Some(P::None)),
            (P::built("CONFIG_PREEMPTION=y\nCONFIG_PREEMPT_VOLUNTARY=y\n"), Some(P::Voluntary)),
            (P::built("CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT=y\n"), Some(P::Full)),
            (P::built("CONFIG_PREEMPT_RT=y\n"), Some(P::Full)),
            (P::built("CONFIG_PREEMPT_COUNT=y\n"), None),
        ];
        for (place, (found, expected)) in cases.into_iter().enumerate() {
            assert_eq!(found, expected, "case {place}");
        }
    }
}
