//! Timestamps of ISO 8601 in the profile of RFC 3339, with the liberties that recorders take: any number of fractional digits, `+0100`
//! without its colon, no zone at all (then UTC). Leap seconds count as the next second's beginning.

use std::time::Duration;

const SECONDS_PER_MINUTE: i64 = 60;
const SECONDS_PER_HOUR: i64 = 3600;
const SECONDS_PER_DAY: i64 = 86_400;

/// Time since the Unix epoch; `None` if `text` is no timestamp, or one before the epoch.
pub(crate) fn since_epoch(text: &str) -> Option<Duration> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    if !is_date(year, month, day) || hour >= 24 || minute >= 60 || second > 60 {
        return None;
    }
    let of_day = hour * SECONDS_PER_HOUR + minute * SECONDS_PER_MINUTE + second;
    let seconds = days_since_epoch(year, month, day) * SECONDS_PER_DAY + of_day - offset(zone)?;
    Some(Duration::from_secs(u64::try_from(seconds).ok()?) + nanos(fraction)?)
}

/// Three numbers without signs.
fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(digits);
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str) -> Option<i64> {
    let only_digits = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if only_digits { text.parse().ok() } else { None }
}

/// What a fraction's digits mean; those behind the ninth do not count.
fn nanos(fraction: &str) -> Option<Duration> {
    if fraction.is_empty() {
        return Some(Duration::ZERO);
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok().map(Duration::from_nanos)
}

/// Seconds that a zone's clocks are ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.get(..1) {
        None | Some("Z" | "z") => return (zone.len() <= 1).then_some(0),
        Some("-") => -1,
        Some(_) => 1,
    };
    let ahead = zone[1..].replacen(':', "", 1);
    let (hours, minutes) = ahead.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { digits(minutes)? };
    let hours = digits(hours)?;
    // RFC 3339 §5.6: a zone's hours and minutes are a clock's.
    (hours < 24 && minutes < 60).then_some(sign * (hours * SECONDS_PER_HOUR + minutes * SECONDS_PER_MINUTE))
}

/// Is there such a day?
fn is_date(year: i64, month: i64, day: i64) -> bool {
    let month_after = || if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let length = |(next_year, next)| days_since_epoch(next_year, next, 1) - days_since_epoch(year, month, 1);
    year <= 9999 && (1..=12).contains(&month) && (1..=length(month_after())).contains(&day)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant's `days_from_civil`).
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorders_spell_the_same_moment_differently() {
        let moment = Some(Duration::from_millis(1_606_564_770_297));
        for text in [
            "2020-11-28T11:59:30.297Z",
            "2020-11-28T11:59:30.297+00:00",
            "2020-11-28T12:59:30.297+01:00",
            "2020-11-28T12:59:30.2970000+0100",
            "2020-11-28 06:29:30.297-05:30",
            " 2020-11-28T11:59:30.297",
        ] {
            assert_eq!(since_epoch(text), moment, "{text}");
        }
        assert_eq!(since_epoch("1970-01-01T00:00:00Z"), Some(Duration::ZERO));
        assert_eq!(since_epoch("2024-02-29T00:00:00Z"), Some(Duration::from_secs(1_709_164_800)));
    }

    #[test]
    fn what_is_no_timestamp_is_none() {
        for text in [
            "",
            "T",
            "2020-11-28",
            "2020-13-01T00:00:00Z",
            "2020-01-00T00:00:00Z",
            "2020-01-32T00:00:00Z",
            "2020-02-30T00:00:00Z",
            "2021-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2020-04-31T00:00:00Z",
            "2020-12-32T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:60:00Z",
            "2020-01-01T00:00:61Z",
            "2020-01-02T00:00:00+24:00",
            "2020-01-02T00:00:00-00:60",
            "2020-01-01T00:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(since_epoch(text), None, "{text}");
        }
        for text in
            ["2020-01-01T00:00:00Zulu", "2020-01-01T00:00:00+é1:00", "2020-01-01T00:00:00.x", "-2020-01-01T00:00:00Z"]
        {
            assert_eq!(since_epoch(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[-0-9TZ:.+é ]{0,40}|.*") {
            let _ = since_epoch(&text);
        }

        #[test]
        fn later_is_more(seconds in 0..4_000_000_000_u64) {
            let day = i64::try_from(seconds).unwrap() / SECONDS_PER_DAY;
            // The next day's date is one more day since the epoch, whatever month or leap year lies between.
            let (year, month, date) = civil(day);
            prop_assert_eq!(days_since_epoch(year, month, date), day);
        }

        #[test]
        fn a_day_counts_if_the_calendar_has_it(year in 1970..2401_i64, month in 0..14_i64, day in 0..33_i64) {
            // Counted back, what the calendar has is itself, and what it has not is a day of another month.
            let counted = (1..=12).contains(&month) && civil(days_since_epoch(year, month, day)) == (year, month, day);
            prop_assert_eq!(is_date(year, month, day), counted);
        }
    }

    /// The way back, by counting: slow and plain.
    fn civil(mut days: i64) -> (i64, i64, i64) {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut year = 1970;
        while days >= 365 + i64::from(leap(year)) {
            days -= 365 + i64::from(leap(year));
            year += 1;
        }
        let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut month = 0;
        while days >= lengths[month] {
            days -= lengths[month];
            month += 1;
        }
        (year, month as i64 + 1, days + 1)
    }
}
