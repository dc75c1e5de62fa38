//! A recording's answers by method and URL.
//!
//! A request is looked up as it is, then without the parameters of its query that change from load to load (times and random numbers
//! against caches), then under http instead of https or the other way round (browsers change it by themselves), then it is not found: an
//! answer to another question would be worse. Of several answers recorded for the same request the best is given, every time: runs shall
//! not depend on what was asked before. Posted data does not count. Left out: servers that keep state, WebSockets, `Vary`.

use super::hosts::Located;
use super::recorded::Recorded;
use super::{Answer, Hosts, initiators};
use crate::error::OriginError;
use crate::request::{Asked, Scheme};
use farhop_web::har::{Entry, Har};
use http::{Method, StatusCode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use url::{Position, Url};

/// Answers, and where each is.
#[derive(Debug, Default)]
pub(super) struct Recording {
    answers: Vec<Recorded>,
    /// By method and URL.
    exact: BTreeMap<String, usize>,
    /// By method and URL without what is volatile in its query.
    stable: BTreeMap<String, usize>,
    /// What was asked for and is not there.
    missed: Mutex<BTreeSet<String>>,
}

/// How many different requests are remembered to have been missed, and how many characters of each.
const MISSED: usize = 1000;
const MISSED_LENGTH: usize = 500;

impl Recording {
    /// Prepares a recording: its answers, its hosts, and what a user must know of what is missing.
    pub(super) fn new(har: Har) -> Result<(Self, Hosts, Vec<String>), OriginError> {
        let (mut recording, mut hosts, mut missing) = (Self::default(), Hosts::default(), Missing::default());
        missing.problems.extend(har.problems.iter().map(ToString::to_string));
        let names = initiators::names(&har);
        for (mut entry, names) in har.entries.into_iter().zip(&names) {
            let seed = recording.answers.len() as u64;
            let has_body = entry.body.is_some();
            match (Located::new(&entry.url), Recorded::new(&mut entry, seed, names)) {
                (Err(problem), _) => drop(missing.hosts.insert(problem)),
                (Ok(_), None) => missing.without_response += 1,
                (Ok(located), Some(recorded)) => {
                    missing.bodies += usize::from(!has_body && recorded.rank() > 0);
                    missing.longer += usize::from(recorded.is_longer());
                    hosts.add(located);
                    recording.add(&entry, recorded);
                }
            }
        }
        hosts.check_count()?;
        Ok((recording, hosts, missing.notes()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    fn add(&mut self, entry: &Entry, recorded: Recorded) {
        let index = self.answers.len();
        let rank = recorded.rank();
        self.answers.push(recorded);
        for (keys, key) in [
            (&mut self.exact, key(&entry.method, &entry.url)),
            (&mut self.stable, key(&entry.method, &without_volatile(entry.url.clone()))),
        ] {
            let best = keys.entry(key).or_insert(index);
            if self.answers[*best].rank() < rank {
                *best = index;
            }
        }
    }

    pub(super) fn answer(&self, asked: &Asked<'_>) -> Answer {
        match self.find(asked) {
            Some(recorded) => Answer { response: recorded.representation(asked).respond(asked), think: recorded.wait },
            None => {
                self.miss(asked);
                Answer::refusal(StatusCode::NOT_FOUND)
            }
        }
    }

    fn miss(&self, asked: &Asked<'_>) {
        let Some(url) = url(asked) else { return };
        let request: String = key(asked.method.as_str(), &url).chars().take(MISSED_LENGTH).collect();
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if missed.len() < MISSED {
            missed.insert(request);
        }
    }

    pub(super) fn missed(&self) -> Vec<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn find(&self, asked: &Asked<'_>) -> Option<&Recorded> {
        let url = url(asked)?;
        let found = |url: &Url| {
            let found = self.find_url(asked.method.as_str(), url);
            found.or_else(|| self.find_url(Method::GET.as_str(), url).filter(|_| asked.method == Method::HEAD))
        };
        // A redirection from the other scheme leads here again.
        let instead = || found(&with_other_scheme(&url)?).filter(|recorded| recorded.rank() > 0);
        found(&url).or_else(instead)
    }

    fn find_url(&self, method: &str, url: &Url) -> Option<&Recorded> {
        let stable = || self.stable.get(&key(method, &without_volatile(url.clone())));
        self.exact.get(&key(method, url)).or_else(stable).map(|&index| &self.answers[index])
    }
}

/// The same URL under http instead of https, or the other way round, if it is at the scheme's own port.
fn with_other_scheme(url: &Url) -> Option<Url> {
    let mut other = url.clone();
    let name = if url.scheme() == Scheme::Http.name() { Scheme::Https } else { Scheme::Http }.name();
    (url.port().is_none() && other.set_scheme(name).is_ok()).then_some(other)
}

/// What a recording could not be used for.
#[derive(Debug, Default)]
struct Missing {
    problems: Vec<String>,
    hosts: BTreeSet<String>,
    without_response: usize,
    bodies: usize,
    longer: usize,
}

impl Missing {
    fn notes(self) -> Vec<String> {
        let mut notes: Vec<_> = self.hosts.into_iter().map(|problem| format!("not served: {problem}")).collect();
        if self.without_response > 0 {
            notes.push(format!("not served: requests without a recorded response ({})", self.without_response));
        }
        if self.bodies > 0 {
            notes.push(format!("filler of the recorded sizes: bodies that were not recorded ({})", self.bodies));
        }
        if self.longer > 0 {
            notes.push(format!("longer than recorded, to name all that they loaded: filler bodies ({})", self.longer));
        }
        notes.extend(self.problems);
        notes
    }
}

/// The URL that is asked for, in the spelling of all URLs here.
fn url(asked: &Asked<'_>) -> Option<Url> {
    let host = if asked.host.contains(':') { format!("[{}]", asked.host) } else { asked.host.clone() };
    Url::parse(&format!("{}://{host}:{}{}", asked.scheme.name(), asked.port, asked.target)).ok()
}

/// Method and URL, without what servers do not see of it.
fn key(method: &str, url: &Url) -> String {
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    // A name may be written with a dot at its end.
    let authority = authority.strip_suffix('.').unwrap_or(authority);
    format!("{method} {}://{authority}{}", url.scheme(), &url[Position::BeforePath..Position::AfterQuery])
}

/// Names of parameters that carry nothing but the time or a random number.
const VOLATILE: [&str; 18] = [
    "_",
    "cachebust",
    "cachebuster",
    "cb",
    "correlator",
    "nocache",
    "nonce",
    "now",
    "ord",
    "rand",
    "random",
    "rnd",
    "t",
    "time",
    "timestamp",
    "ts",
    "tstamp",
    "uuid",
];

/// The URL without parameters that change from load to load, by their names or because they look like it.
fn without_volatile(mut url: Url) -> Url {
    let Some(query) = url.query() else { return url };
    let kept: Vec<&str> = query.split('&').filter(|parameter| !is_volatile(parameter)).collect();
    let query = kept.join("&");
    url.set_query(Some(&query).filter(|query| !query.is_empty()).map(String::as_str));
    url
}

/// A parameter with a volatile name, or a number of as many digits as milliseconds since 1970 or random numbers have.
fn is_volatile(parameter: &str) -> bool {
    const DIGITS: usize = 10;
    let (name, value) = parameter.split_once('=').unwrap_or(("", parameter));
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    VOLATILE.contains(&name.to_ascii_lowercase().as_str()) || (is_number && value.len() >= DIGITS)
}
