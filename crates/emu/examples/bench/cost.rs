//! What the emulator's own threads take.

use farhop_units::Bytes;
use std::time::Duration;

/// Processor time of the threads whose names begin with `farhop-`, so far (proc(5): `schedstat`, first field, ns).
pub(crate) fn cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos = |task: std::fs::DirEntry| -> Option<u64> {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        name.starts_with("farhop-").then(|| stat.split(' ').next()?.parse().ok())?
    };
    Duration::from_nanos(tasks.filter_map(nanos).sum())
}

/// Memory of this process (proc(5): `statm`, second field, pages of 4 KiB).
pub(crate) fn memory() -> Bytes {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    Bytes::new(pages * 4096)
}

/// How many programs wanted a processor in the last minute (proc(5): `loadavg`).
pub(crate) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
