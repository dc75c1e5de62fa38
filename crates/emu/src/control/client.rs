//! Talks to the control socket of a running emulator.

use super::ControlError;
use crate::instance::STATE;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".sock";

/// Sends lines to the emulator with this number, or to the only one that runs; what it answers, without its `ok`s.
///
/// # Errors
/// There is no such emulator, there are several, or it refuses one of the lines: then those after it are not sent.
pub fn send(instance: Option<u32>, lines: &[String]) -> Result<Vec<String>, ControlError> {
    let (path, stream) = connect(Path::new(STATE), instance)?;
    let failed = |source| ControlError::Socket { socket: path.clone(), source };
    let mut answers = BufReader::new(stream.try_clone().map_err(failed)?).lines();
    let mut stream = stream;
    let mut told = Vec::new();
    for line in lines {
        // Control characters would make two lines of one.
        let line = line.replace(char::is_control, " ");
        writeln!(stream, "{line}").map_err(failed)?;
        loop {
            let answer = answers.next().unwrap_or(Err(io::ErrorKind::UnexpectedEof.into())).map_err(failed)?;
            match answer.strip_prefix("error ") {
                Some(reason) => return Err(ControlError::Refused(reason.to_owned())),
                None if answer == "ok" => break,
                None => told.push(answer),
            }
        }
    }
    Ok(told)
}

/// A socket that nobody listens to is one of an emulator that was killed.
fn connect(folder: &Path, wanted: Option<u32>) -> Result<(PathBuf, UnixStream), ControlError> {
    let path = |number: u32| folder.join(format!("{number}{SUFFIX}"));
    let mut running: Vec<(u32, UnixStream)> = Vec::new();
    for number in numbers(folder) {
        match UnixStream::connect(path(number)) {
            Ok(stream) => running.push((number, stream)),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied && wanted.is_none_or(|it| it == number) => {
                return Err(ControlError::Socket { socket: path(number), source });
            }
            Err(_) => {}
        }
    }
    let found: Vec<u32> = running.iter().map(|(number, _)| *number).collect();
    let chosen = match (wanted, &found[..]) {
        (Some(wanted), _) => found.iter().position(|number| *number == wanted).ok_or(wanted),
        (None, [_]) => Ok(0),
        (None, []) => return Err(ControlError::NoInstance),
        (None, _) => return Err(ControlError::SeveralInstances { running: found }),
    };
    match chosen {
        Ok(place) => {
            let (number, stream) = running.swap_remove(place);
            Ok((path(number), stream))
        }
        Err(wanted) => Err(ControlError::NoSuchInstance { wanted, running: found }),
    }
}

fn numbers(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_suffix(SUFFIX)?.parse().ok();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn chosen(folder: &Path, wanted: Option<u32>) -> String {
        match connect(folder, wanted) {
            Ok((path, _)) => path.file_name().expect("a file").to_string_lossy().into_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_only_live_emulator_is_found_and_several_are_named() {
        let folder = tempfile::tempdir().expect("a directory");
        let folder = folder.path();
        assert_eq!(chosen(folder, None), "no emulator runs here; start one with `farhop emulate SCENARIO`");
        let _seven = UnixListener::bind(folder.join("7.sock")).expect("a socket");
        drop(UnixListener::bind(folder.join("3.sock")).expect("a socket that nobody listens to"));
        assert_eq!(chosen(folder, None), "7.sock");
        assert_eq!(chosen(folder, Some(3)), "no emulator has the number 3; running: 7");
        let _ten = UnixListener::bind(folder.join("10.sock")).expect("a socket");
        assert_eq!(chosen(folder, None), "several emulators run here; choose one by --instance: 7, 10");
        assert_eq!(chosen(folder, Some(10)), "10.sock");
    }
}
