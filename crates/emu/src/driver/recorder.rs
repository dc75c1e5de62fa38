//! Packet log and capture of a running link, written by a thread of their own.
//!
//! The link's thread only copies what happened into a block of memory and hands over full blocks. There are
//! [`BLOCKS_ON_THE_WAY`] of them: where the disk is slower than the link for so long that none is left, or fails, the files end
//! there, as files that were cut short, and what they lack is counted. The link never waits.

use super::frame::Frame;
use crate::EmuError;
use farhop_link::replay::{Input, Recorded};
use farhop_link::{Change, ChannelConfig, Output, Port};
use farhop_recording::words::{header, log_input, log_output};
use farhop_results::capture::Capture;
use farhop_results::packet_log::Writer;
use farhop_units::Instant;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// Where to write what happens on a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Files {
    /// The packet log.
    pub(crate) log: Option<PathBuf>,
    /// The packets themselves (pcapng).
    pub(crate) pcap: Option<PathBuf>,
}

/// What became of a run's packet log and capture.
#[derive(Debug, Default)]
pub struct Written {
    /// Arrivals, deliveries, drops and changes that were given to the files: where they could not be written, the last of them
    /// are not there.
    pub records: u64,
    /// Those that are not, since the files had to end before.
    pub missing: u64,
    /// Why they had to end; absent if the disk was too slow.
    pub error: Option<io::Error>,
}

impl Written {
    /// What is wrong with the files, in one line.
    pub fn problem(&self) -> Option<String> {
        let Self { records, missing, error } = self;
        let (place, reason) = match error {
            Some(error) => (format!("after at most {records} of {} records", records + missing), error.to_string()),
            None if *missing == 0 => return None,
            None => (format!("after {records} records, {missing} are missing"), DISK_TOO_SLOW.to_owned()),
        };
        Some(format!("packet log and capture end {place}: {reason}"))
    }
}

const DISK_TOO_SLOW: &str = "the disk was slower than the link";

/// What happened, in order.
#[derive(Debug)]
enum Entry {
    Arrival(Instant, Port, Recorded),
    Change(Instant, Box<Change>),
    Output(Output<Recorded>),
}

/// Some of what happened, and the packets' bytes one after the other, if they are wanted.
#[derive(Debug, Default)]
struct Block {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

/// A block is full with so many entries, so many bytes, or after so long.
const BLOCK_ENTRIES: usize = 4096;
const BLOCK_BYTES: usize = 1 << 20;
const BLOCK_TIME: Duration = Duration::from_secs(1);
/// Half a million records without bytes or some 90,000 full packets with them: at most 30 or 160 MB.
const BLOCKS_ON_THE_WAY: usize = 128;

/// What goes to the files' thread.
#[derive(Debug)]
enum Message {
    Block(Block),
    /// Everything is there; the link was last run at this time.
    End(Instant),
}

/// The link thread's end.
#[derive(Debug)]
pub(super) struct Recorder {
    current: Block,
    began: Instant,
    with_bytes: bool,
    full: SyncSender<Message>,
    empty: Receiver<Block>,
    missing: u64,
    thread: JoinHandle<Written>,
}

impl Recorder {
    /// Creates the files and starts their thread; `None` if no file is wanted.
    pub(super) fn start(
        files: &Files,
        config: &ChannelConfig,
        seed: u64,
        start: SystemTime,
    ) -> Result<Option<Self>, EmuError> {
        let Some(writing) = Writing::start(files, config, seed, start)? else { return Ok(None) };
        let recorder = Self::with(BLOCKS_ON_THE_WAY, files.pcap.is_some(), |blocks, done| writing.run(blocks, done));
        recorder.map(Some).map_err(EmuError::system("start a thread"))
    }

    /// With a thread that does `run`.
    fn with(
        on_the_way: usize,
        with_bytes: bool,
        run: impl FnOnce(&Receiver<Message>, &Sender<Block>) -> Written + Send + 'static,
    ) -> io::Result<Self> {
        let (full, blocks) = sync_channel(on_the_way);
        let (done, empty) = channel();
        let thread = thread::Builder::new().name("farhop-files".to_owned()).spawn(move || run(&blocks, &done))?;
        Ok(Self { current: Block::default(), began: Instant::START, with_bytes, full, empty, missing: 0, thread })
    }

    /// A packet has arrived.
    pub(super) fn arrival(&mut self, at: Instant, port: Port, packet: Recorded, bytes: &[u8]) {
        self.push(at, Entry::Arrival(at, port, packet), bytes);
    }

    /// A setting was changed.
    pub(super) fn change(&mut self, at: Instant, change: Change) {
        self.push(at, Entry::Change(at, Box::new(change)), &[]);
    }

    /// The channel has done something with a packet.
    pub(super) fn output(&mut self, output: Output<Recorded>, frame: &Frame) {
        self.push(output.at(), Entry::Output(output), frame.bytes());
    }

    fn push(&mut self, at: Instant, entry: Entry, bytes: &[u8]) {
        if self.missing > 0 {
            self.missing += 1;
            return;
        }
        if self.current.entries.is_empty() {
            self.began = at;
        }
        self.current.entries.push(entry);
        if self.with_bytes {
            self.current.bytes.extend_from_slice(bytes);
        }
        let Block { entries, bytes } = &self.current;
        if entries.len() >= BLOCK_ENTRIES || bytes.len() >= BLOCK_BYTES || at.since(self.began) >= BLOCK_TIME {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        let block = std::mem::replace(&mut self.current, next);
        let count = block.entries.len() as u64;
        // What cannot be handed over, and all that follows, is missing: a log with a gap could not be replayed.
        if self.full.try_send(Message::Block(block)).is_err() {
            self.missing += count;
        }
    }

    /// Waits until everything is written.
    pub(super) fn finish(mut self, end: Instant) -> Written {
        if self.missing == 0 {
            let last = std::mem::take(&mut self.current);
            // A thread that has panicked takes nothing; joining it will tell.
            let _ = self.full.send(Message::Block(last)).and_then(|()| self.full.send(Message::End(end)));
        }
        drop(self.full);
        let mut written = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.missing += self.missing;
        written
    }
}

/// The files' thread.
#[derive(Debug)]
struct Writing {
    log: Option<Writer<File>>,
    capture: Option<Capture<BufWriter<File>>>,
    written: Written,
}

impl Writing {
    fn start(files: &Files, config: &ChannelConfig, seed: u64, start: SystemTime) -> Result<Option<Self>, EmuError> {
        let (log, pcap) = (create(files.log.as_deref())?, create(files.pcap.as_deref())?);
        if let (Some((path, log)), Some((_, pcap))) = (&log, &pcap)
            && is_same_file(log, pcap).map_err(failed(path))?
        {
            return Err(EmuError::SameFile { path: path.to_path_buf() });
        }
        let begin_log = |(path, file)| Writer::new(file, &header(config, seed)).map_err(failed(path));
        let begin_capture = |(path, file)| {
            let file = BufWriter::with_capacity(BLOCK_BYTES, file);
            Capture::new(file, config.terminals, start).map_err(failed(path))
        };
        let (log, capture) = (log.map(begin_log).transpose()?, pcap.map(begin_capture).transpose()?);
        let wanted = log.is_some() || capture.is_some();
        Ok(wanted.then(|| Self { log, capture, written: Written::default() }))
    }

    fn run(mut self, messages: &Receiver<Message>, done: &Sender<Block>) -> Written {
        let mut end = None;
        for message in messages {
            match message {
                Message::Block(mut block) => {
                    self.write_block(&block);
                    block.entries.clear();
                    block.bytes.clear();
                    // The link's thread may be gone.
                    let _ = done.send(block);
                }
                Message::End(at) => end = Some(at),
            }
        }
        if let Err(error) = self.close(end) {
            self.written.error.get_or_insert(error);
        }
        self.written
    }

    fn write_block(&mut self, block: &Block) {
        let mut bytes = &block.bytes[..];
        for entry in &block.entries {
            if self.written.error.is_none() {
                self.written.error = self.write(entry, &mut bytes).err();
            }
            *if self.written.error.is_none() { &mut self.written.records } else { &mut self.written.missing } += 1;
        }
    }

    fn write(&mut self, entry: &Entry, bytes: &mut &[u8]) -> io::Result<()> {
        let (record, packet) = match entry {
            Entry::Change(at, change) => {
                let input = Input::Change { at: *at, change: Change::clone(change) };
                return self.log.as_mut().map_or(Ok(()), |log| log.write(&log_input(&input)));
            }
            Entry::Arrival(at, port, packet) => {
                let input = Input::Arrival { at: *at, port: *port, packet: *packet };
                (log_input(&input), packet)
            }
            Entry::Output(output) => match output {
                Output::Deliver { packet, .. } | Output::Drop { packet, .. } => (log_output(output), packet),
            },
        };
        if let Some(log) = &mut self.log {
            log.write(&record)?;
        }
        if let Some(capture) = &mut self.capture {
            let (own, rest) = bytes.split_at(packet.bytes.get() as usize);
            *bytes = rest;
            capture.write(&record, own)?;
        }
        Ok(())
    }

    /// Ends the files; without an end, or after an error, as those that were cut short.
    fn close(&mut self, end: Option<Instant>) -> io::Result<()> {
        let end = end.filter(|_| self.written.error.is_none());
        if let Some(log) = self.log.take() {
            match end {
                Some(end) => log.finish(end)?,
                None => log.cut_short()?,
            };
        }
        self.capture.as_mut().map_or(Ok(()), Capture::flush)
    }
}

fn create(path: Option<&Path>) -> Result<Option<(&Path, File)>, EmuError> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).map_err(EmuError::system(format!("create {}", path.display())))?;
    Ok(Some((path, file)))
}

/// Whether both are one file with contents, by whatever names; a device such as `/dev/null` may be given twice.
fn is_same_file(one: &File, other: &File) -> io::Result<bool> {
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok(one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> EmuError {
    EmuError::system(format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhop_units::Bytes;

    /// Records so many arrivals of full packets, a millisecond apart.
    fn record(recorder: &mut Recorder, count: u64) {
        for id in 0..count {
            let at = Instant::START + Duration::from_millis(id);
            recorder.arrival(at, Port::Gateway, Recorded::new(id, Bytes::new(1500)), &[0x45; 1500]);
        }
    }

    #[test]
    fn a_disk_that_is_too_slow_ends_the_files_and_is_told_but_never_waited_for() {
        let (go, gone) = channel();
        let writing = Writing { log: None, capture: None, written: Written::default() };
        let slow = move |blocks: &Receiver<Message>, done: &Sender<Block>| {
            gone.recv().expect("the test goes on");
            writing.run(blocks, done)
        };
        let mut recorder = Recorder::with(2, false, slow).expect("a thread");
        // A block a second, of which two wait and the third finds no place.
        record(&mut recorder, 5000);
        assert!(recorder.missing > 0);
        go.send(()).expect("the thread waits");
        let written = recorder.finish(Instant::START);
        assert_eq!((written.records, written.missing), (2002, 2998));
        let told = "packet log and capture end after 2002 records, 2998 are missing: the disk was slower than the link";
        assert_eq!(written.problem().as_deref(), Some(told));
    }

    #[test]
    fn one_file_cannot_be_log_and_capture() {
        let folder = tempfile::tempdir().expect("a directory");
        let (path, alias) = (folder.path().join("both"), folder.path().join("alias"));
        std::os::unix::fs::symlink(&path, &alias).expect("a link");
        let start = |log: &Path, pcap: &Path| {
            let files = Files { log: Some(log.to_owned()), pcap: Some(pcap.to_owned()) };
            Recorder::start(&files, &ChannelConfig::default(), 1, SystemTime::UNIX_EPOCH).map(|_| ())
        };
        assert!(matches!(start(&path, &alias), Err(EmuError::SameFile { .. })));
        start(Path::new("/dev/null"), Path::new("/dev/null")).expect("nothing is kept");
    }

    #[test]
    fn a_full_disk_is_told_without_a_claim_of_what_is_on_it() {
        let files = Files { log: Some("/dev/full".into()), pcap: None };
        let started = Recorder::start(&files, &ChannelConfig::default(), 1, SystemTime::UNIX_EPOCH);
        let mut recorder = started.expect("it can be opened").expect("a file is wanted");
        record(&mut recorder, 3);
        let told = recorder.finish(Instant::START).problem().expect("nothing could be written");
        assert!(told.starts_with("packet log and capture end after at most 3 of 3 records: No space left"), "{told}");
    }

    #[test]
    fn files_hold_every_record_and_the_log_its_end() {
        let folder = tempfile::tempdir().expect("a directory");
        let files = Files { log: Some(folder.path().join("log")), pcap: Some(folder.path().join("pcap")) };
        let started = Recorder::start(&files, &ChannelConfig::default(), 1, SystemTime::UNIX_EPOCH);
        let mut recorder = started.expect("the files can be created").expect("files are wanted");
        record(&mut recorder, 5000);
        let written = recorder.finish(Instant::from_nanos(7_000_000_000));
        assert_eq!((written.records, written.missing, written.problem()), (5000, 0, None));
        let log = std::fs::read_to_string(folder.path().join("log")).expect("it was written");
        assert!(log.ends_with("\n7000000000,end,,,,,,,,,,,\n"));
        assert_eq!(log.lines().filter(|line| line.contains(",arrival,")).count(), 5000);
        assert!(std::fs::metadata(folder.path().join("pcap")).expect("it was written").len() > 5000 * 1500);
    }
}
