//! The schemes as a whole: schedules against a plain reference, laws, and values from textbooks.

mod delay;
mod laws;
mod play;
mod reference;
mod schedule;
mod throughput;
