//! Real testbeds: what the scenario says is what programs inside meet, and nothing stays behind.
//!
//! These tests need the rights that `farhop_emu::availability` names. Without them they say so and pass, unless
//! `FARHOP_REQUIRE_ROOT_TESTS=1`. Times are only bounded from below, where the link's delay is a minimum but for what is reckoned of a
//! waking, or so loosely from above that a busy machine does not matter.

mod control;
mod files;
mod impairments;
mod killed;
mod lifetime;
mod nat;
mod network;
mod offload;
mod outside;
mod replay;
mod tcp;
mod terminals;

use farhop_emu::{Host, Testbed, availability};
use farhop_scenario::Scenario;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// By what a round trip may be too short: when a packet came is reckoned back from when it was noticed, by up to 0.2 ms that waking
/// usually takes, and a round trip through three links comes six times.
pub(crate) const RECKONED: Duration = Duration::from_micros(6 * 200);

/// 100 Mbit/s, 10 ms each way, with more of a scenario in TOML and assignments of `key=value`.
pub(crate) fn scenario(assignments: &[&str]) -> Scenario {
    let text = "version = 1\n\
                [link.down]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2.5 MB\"\n\
                [link.up]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2.5 MB\"\n\
                [page]\nobjects = 1\nsize = \"5 kB\"\n";
    let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
    farhop_scenario::parse("test", text, &assignments).expect("a valid scenario")
}

/// Whether testbeds can be had; says why not.
pub(crate) fn permitted() -> bool {
    match availability() {
        Ok(()) => true,
        Err(error) if std::env::var("FARHOP_REQUIRE_ROOT_TESTS").is_ok_and(|value| value == "1") => {
            panic!("FARHOP_REQUIRE_ROOT_TESTS=1, but {error}");
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            false
        }
    }
}

/// A testbed of `scenario`, unless they cannot be had.
pub(crate) fn testbed(assignments: &[&str]) -> Option<Testbed> {
    permitted().then(|| Testbed::start(&scenario(assignments)).expect("a testbed"))
}

/// Runs `f` at a host and waits for it.
pub(crate) fn at<T: Send + 'static>(testbed: &Testbed, host: Host, f: impl FnOnce() -> T + Send + 'static) -> T {
    testbed.host(host).spawn("test", f).join().expect("no panic inside")
}

/// What came of a [`transfer`].
pub(crate) struct Transferred<T> {
    /// What the receiver read.
    pub(crate) received: Vec<u8>,
    /// The sender's connection, before it sent.
    pub(crate) before: T,
    /// The sender's connection, after the receiver has said that it has read everything.
    pub(crate) after: T,
}

/// Sends `bytes` over TCP from one host to another and looks at the sender's connection.
pub(crate) fn transfer<T: Send + 'static>(
    testbed: &Testbed,
    (from, to): (Host, Host),
    bytes: Vec<u8>,
    look: impl Fn(&TcpStream) -> T + Send + 'static,
) -> Transferred<T> {
    let address = SocketAddr::from((testbed.address(to), 0));
    let listener = at(testbed, to, move || TcpListener::bind(address).expect("a free port"));
    let address = listener.local_addr().expect("bound");
    let sender = testbed.host(from).spawn("sender", move || {
        let mut stream = TcpStream::connect(address).expect("the receiver listens");
        let before = look(&stream);
        stream.write_all(&bytes).expect("the receiver reads");
        stream.shutdown(Shutdown::Write).expect("still connected");
        stream.read_exact(&mut [0]).expect("the receiver's word");
        (before, look(&stream))
    });
    let mut received = Vec::new();
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.read_to_end(&mut received).expect("the sender's bytes");
    stream.write_all(&[0]).expect("the sender waits");
    let (before, after) = sender.join().expect("no panic in the sender");
    Transferred { received, before, after }
}
