//! `[users]`: who loads pages, how many they are, and for how long.

use crate::reader::{Document, ValueError};
use crate::resolve::number;
use crate::scenario::Users;
use farhop_units::{ParseError, Probability, duration};
use farhop_web::users::UserModel;
use std::time::Duration;

/// Most users of all terminals together.
const MOST_USERS: u64 = 1_000_000;
const DURATION: Duration = Duration::from_secs(3600);
const WARM_UP: Duration = Duration::from_secs(300);
/// A twentieth.
const PRECISION: Probability = Probability::new(0.05).expect("it is below one");
/// A year.
const LONGEST: Duration = Duration::from_secs(8784 * 3600);

/// Reads the section; without a model there are no users.
pub(crate) fn read(document: &Document, terminals: u16) -> Result<Option<Users>, ValueError> {
    let model = document.get("users.model", str::parse::<UserModel>)?;
    let per_terminal = document.get("users.per_terminal", |text| number(text, 1, MOST_USERS))?.unwrap_or(1);
    let duration = document.get("users.duration", time)?.unwrap_or(DURATION);
    let warm_up = document.get("users.warm_up", time)?.unwrap_or(WARM_UP);
    let precision = document.get("users.precision", str::parse::<Probability>)?.unwrap_or(PRECISION);
    let Some(model) = model else {
        let is_given = ["users", "users.per_terminal", "users.duration", "users.warm_up", "users.precision"]
            .iter()
            .any(|key| document.has(key));
        let missing = || document.missing("users.model", "who the users are, e.g. \"zhou-2004\"");
        return if is_given { Err(missing()) } else { Ok(None) };
    };
    let all = per_terminal * u64::from(terminals);
    if all > MOST_USERS {
        let problem =
            ParseError::new(format!("{all} users at {terminals} terminals"), format!("at most {MOST_USERS} in all"));
        return Err(document.refuse("users.per_terminal", problem));
    }
    if warm_up >= duration {
        let problem = format!("not below users.duration, which is {}", duration::format(duration));
        return Err(document.refuse("users.warm_up", ParseError::new(problem, "a part of users.duration, or 0 s")));
    }
    let per_terminal = u32::try_from(per_terminal).expect("at most a million");
    Ok(Some(Users { model, per_terminal, duration, warm_up, precision }))
}

fn time(text: &str) -> Result<Duration, ParseError> {
    let span = duration::parse(text)?;
    if span <= LONGEST { Ok(span) } else { Err(ParseError::new("out of range", "at most 8784 h")) }
}
