//! Time on a processor, so that what else runs on the machine does not count.

/// Time that this thread has had a processor, in s: the kernel's count (proc's schedstat), which goes on in ticks.
pub(crate) fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with scheduler statistics");
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.expect("a number of nanoseconds") / 1e9
}

/// What is shorter cannot be told.
const TICK: f64 = 0.004;

/// Events per second since the time `start`; of those that took less than a tick, fewer than there were.
pub(crate) fn rate(count: u32, start: f64) -> f64 {
    f64::from(count) / (seconds() - start).max(TICK)
}
