//! The thread behind a control socket.

use super::settings::{Settings, assignments, pairs};
use super::{ControlError, TimedChange};
use crate::EmuError;
use crate::clock::Clock;
use crate::driver::Remote;
use crate::status;
use farhop_link::{Change, ChannelConfig};
use farhop_units::Instant;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A running control socket; dropping it ends and removes it.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

/// Whoever connects while so many are connected waits.
const MOST_CLIENTS: usize = 16;
/// Letters of a line that are given back when it makes no sense.
const MOST_QUOTED: usize = 80;
/// Longest line: a recorded trace may be a value.
const MAX_LINE_BYTES: usize = 64 << 20;

impl Control {
    /// Opens the socket of a link that is `segment` of a driver. The timetable is in order of time and has been checked
    /// ([`check_timetable`](super::check_timetable)).
    pub(crate) fn start(
        path: &Path,
        (remote, segment): (Remote, usize),
        (config, offload): (ChannelConfig, bool),
        timetable: Vec<TimedChange>,
        clock: Clock,
    ) -> Result<Self, EmuError> {
        let failed = || format!("open the control socket {}", path.display());
        let listener = UnixListener::bind(path).map_err(EmuError::system(failed()))?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(EmuError::system(failed()))?;
        listener.set_nonblocking(true).map_err(EmuError::system(failed()))?;
        let (stopped, stop) = io::pipe().map_err(EmuError::system(failed()))?;
        let settings = Settings::new(config, offload);
        let server =
            Server { listener, clients: Vec::new(), remote, segment, settings, timetable: timetable.into(), clock };
        let thread = thread::Builder::new().name("farhop-control".to_owned()).spawn(move || server.serve(&stopped));
        let thread = Some(thread.map_err(EmuError::system("start a thread"))?);
        Ok(Self { path: path.to_owned(), stop: Some(stop), thread })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The pipe's end is the thread's sign.
        self.stop = None;
        let _ = self.thread.take().map(JoinHandle::join);
        let _ = fs::remove_file(&self.path);
    }
}

#[derive(Debug)]
struct Server {
    listener: UnixListener,
    clients: Vec<Client>,
    remote: Remote,
    segment: usize,
    settings: Settings,
    timetable: VecDeque<TimedChange>,
    clock: Clock,
}

/// A connection. As long as it does not take its answers, no more is taken from it: nobody else waits for it.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// What has come of its next lines.
    input: Vec<u8>,
    /// How much of that is known to hold no end of a line.
    searched: usize,
    /// What it has still to be told.
    output: Vec<u8>,
}

impl Server {
    fn serve(mut self, stopped: &PipeReader) {
        loop {
            let (is_stopped, is_called, ready) = self.wait(stopped);
            if is_stopped {
                return;
            }
            self.keep_timetable();
            self.answer_clients(&ready);
            if is_called {
                self.accept();
            }
        }
    }

    /// Waits for the end, a new client, clients that write or take their answers, or a change that is due.
    fn wait(&self, stopped: &PipeReader) -> (bool, bool, Vec<bool>) {
        let mut events = vec![PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
        events.extend(self.clients.iter().map(|client| PollFd::new(client.stream.as_fd(), client.awaits())));
        if self.clients.len() < MOST_CLIENTS {
            events.push(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
        }
        // An interrupted wait is a short wait.
        let _ = ppoll(&mut events, self.time_left().map(TimeSpec::from_duration), None);
        let seen: Vec<bool> = events.iter().map(|event| event.any() == Some(true)).collect();
        let count = self.clients.len();
        (seen[0], seen.get(count + 1) == Some(&true), seen[1..=count].to_vec())
    }

    fn time_left(&self) -> Option<Duration> {
        let (at, ..) = self.timetable.front()?;
        Some((Instant::START + *at).since(self.clock.now()))
    }

    /// Makes the changes that are due, those of one time together.
    fn keep_timetable(&mut self) {
        while self.time_left().is_some_and(|left| left.is_zero()) {
            let at = self.timetable.front().map(|(at, ..)| *at);
            let together = self.timetable.iter().take_while(|(other, ..)| Some(*other) == at).count();
            let changes: Vec<TimedChange> = self.timetable.drain(..together).collect();
            if let Err(error) = self.assign(&pairs(&changes)) {
                // It could be made when the timetable was checked; somebody has changed the link since.
                tracing::warn!(%error, ?at, "a change of the timetable cannot be made");
            }
        }
    }

    fn accept(&mut self) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        if stream.set_nonblocking(true).is_ok() {
            self.clients.push(Client { stream, input: Vec::new(), searched: 0, output: Vec::new() });
        }
    }

    fn answer_clients(&mut self, ready: &[bool]) {
        let clients = std::mem::take(&mut self.clients);
        let mut ready = ready.iter();
        for mut client in clients {
            if ready.next() != Some(&true) || self.attend_to(&mut client).is_ok() {
                self.clients.push(client);
            }
        }
    }

    /// Goes on with a client; an error if it has gone.
    fn attend_to(&mut self, client: &mut Client) -> io::Result<()> {
        client.send()?;
        self.answer(client)?;
        if client.output.is_empty() {
            client.receive()?;
            self.answer(client)?;
        }
        Ok(())
    }

    /// Answers the whole lines that have come, as long as the client takes the answers.
    fn answer(&mut self, client: &mut Client) -> io::Result<()> {
        while client.output.is_empty()
            && let Some(line) = client.next_line()
        {
            let answer = match self.obey(line.trim()) {
                Ok(mut lines) => {
                    lines.push("ok".to_owned());
                    lines.join("\n")
                }
                // What it quotes must not look like another answer, nor act on a terminal.
                Err(error) => format!("error {error}").replace(char::is_control, " "),
            };
            client.output = answer.into_bytes();
            client.output.push(b'\n');
            client.send()?;
        }
        Ok(())
    }

    fn obey(&mut self, line: &str) -> Result<Vec<String>, ControlError> {
        match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
            ("set", text) => self.assign(&assignments(text)?).map(|()| Vec::new()),
            ("get", name) => self.settings.describe(Some(name.trim()).filter(|name| !name.is_empty())),
            ("status", "") => {
                let status = self.remote.status(self.segment).ok_or_else(ended)?;
                Ok(vec![status::json(&status)])
            }
            _ => {
                let start: String = line.chars().take(MOST_QUOTED).collect();
                let problem = format!("unknown command \"{start}\"; accepted: set NAME=VALUE, get, status");
                Err(ControlError::Refused(problem))
            }
        }
    }

    fn assign(&mut self, assignments: &[(&str, &str)]) -> Result<(), ControlError> {
        let changes: Vec<Change> = self.settings.assign(assignments)?;
        self.remote.change(self.segment, changes).map(drop).ok_or_else(ended)
    }
}

fn ended() -> ControlError {
    ControlError::Refused("the link has stopped".to_owned())
}

impl Client {
    fn awaits(&self) -> PollFlags {
        if self.output.is_empty() { PollFlags::POLLIN } else { PollFlags::POLLOUT }
    }

    /// Sends as much of the output as it takes now.
    fn send(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(length) => drop(self.output.drain(..length)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes in what has come; an error at the end.
    fn receive(&mut self) -> io::Result<()> {
        let mut part = [0; 4096];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) if self.input.len() > MAX_LINE_BYTES => return Err(ErrorKind::InvalidData.into()),
                Ok(length) => {
                    self.input.extend_from_slice(&part[..length]);
                    // A line is answered before more is taken in.
                    if part[..length].contains(&b'\n') {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn next_line(&mut self) -> Option<String> {
        let Some(place) = self.input[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.input.len();
            return None;
        };
        let line: Vec<u8> = self.input.drain(..=self.searched + place).collect();
        self.searched = 0;
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}
