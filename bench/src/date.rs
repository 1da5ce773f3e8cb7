//! Today, as a manifest names it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The day in UTC, `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    day(seconds / 86_400)
}

/// The day so many days after 1970-01-01, in the Gregorian calendar; years of 400 repeat exactly.
fn day(mut days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970 + 400 * (days / 146_097);
    days %= 146_097;
    while days >= if leap(year) { 366 } else { 365 } {
        days -= if leap(year) { 366 } else { 365 };
        year += 1;
    }
    let mut month = 1;
    for length in [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(
            [0, 58, 59, 11_016, 20_788, 146_097].map(day),
            ["1970-01-01", "1970-02-28", "1970-03-01", "2000-02-29", "2026-12-01", "2370-01-01"]
        );
    }
}
