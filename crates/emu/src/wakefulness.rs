//! Processors that do not sleep while links run.
//!
//! An idle processor takes tens of microseconds to wake, in a virtual machine hundreds. On every hop that adds to the path's delay
//! (0.3 ms to a round trip before, 0.1 ms now, on two virtual processors) and makes packets late. Holding `/dev/cpu_dma_latency`
//! at zero asks the kernel's power management to idle by polling instead (kernel documentation, PM Quality of Service Interface),
//! as real-time programs do. It costs power, no processor time that others want.

use std::fs::{File, OpenOptions};
use std::io::Write;

/// Keeps idle processors awake as long as it lives.
#[derive(Debug)]
pub(crate) struct Wakefulness {
    /// The request lasts while the file is open.
    _request: File,
}

impl Wakefulness {
    /// Asks for it; `None` where this process may not or the kernel cannot, which costs precision and nothing else.
    pub(crate) fn ask() -> Option<Self> {
        let mut request = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
        // Microseconds, as a 32-bit number in the machine's byte order.
        request.write_all(&0_i32.to_ne_bytes()).ok()?;
        Some(Self { _request: request })
    }
}
