//! How long testbeds take to start and to stop: `terminals [NUMBER…]`, 1, 8 and 128 by default.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use farhop_emu::Testbed;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wanted = if wanted.is_empty() { ["1", "8", "128"].map(str::to_owned).to_vec() } else { wanted };
    for number in wanted {
        let link = "rate = \"10 Mbit/s\"\ndelay = \"250 ms\"\nqueue = \"1 MB\"\n";
        let text = format!("version = 1\n[link.down]\n{link}[link.up]\n{link}[page]\nobjects = 1\nsize = \"5 kB\"\n");
        let scenario = farhop_scenario::parse("terminals", &text, &[format!("access.terminals={number}")])?;
        let started = Instant::now();
        let testbed = Testbed::start(&scenario)?;
        let (start, stopping) = (started.elapsed(), Instant::now());
        testbed.stop()?;
        println!(
            "{number:>5} terminals: start {:.2} s, stop {:.2} s",
            start.as_secs_f64(),
            stopping.elapsed().as_secs_f64()
        );
    }
    Ok(())
}
