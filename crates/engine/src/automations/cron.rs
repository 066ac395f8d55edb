//! When a schedule occurs: the protocol's cron expressions, in a time zone.
//!
//! The grammar is the protocol's own: it is stricter than what cron crates
//! read, and a host has to accept all of it and nothing else.
//!
//! Where clocks are changed, a schedule that names hours keeps to one
//! occurrence for each time that it names: a time that is skipped is made up
//! for at the moment after the gap, and one that comes twice counts the first
//! time. A schedule that names no hours occurs as time passes: in a repeated
//! hour again, and in a skipped one not at all.

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::newest::state::AutomationSchedule;
use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// How far ahead an occurrence is looked for. The 29th of February may be eight
/// years away.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 366 * 10);

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A schedule that was understood.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
    zone: TimeZone,
}

/// The values that a field of an expression allows, a bit for each.
#[derive(Debug, Clone, Copy)]
struct Field {
    bits: u64,
    /// It is not `*`.
    is_restricted: bool,
}

impl Field {
    fn has(self, value: i8) -> bool {
        u32::try_from(value)
            .ok()
            .and_then(|value| 1_u64.checked_shl(value))
            .is_some_and(|bit| self.bits & bit != 0)
    }
}

/// What a field of an expression may hold.
struct Kind {
    name: &'static str,
    first: u32,
    last: u32,
    /// Other words for values, the first of which stands for `first`.
    words: &'static [&'static str],
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "minute",
        first: 0,
        last: 59,
        words: &[],
    },
    Kind {
        name: "hour",
        first: 0,
        last: 23,
        words: &[],
    },
    Kind {
        name: "day of month",
        first: 1,
        last: 31,
        words: &[],
    },
    Kind {
        name: "month",
        first: 1,
        last: 12,
        words: &MONTHS,
    },
    Kind {
        name: "day of week",
        first: 0,
        last: 7,
        words: &WEEKDAYS,
    },
];

impl Schedule {
    /// Says what is wrong with a schedule that cannot be followed.
    pub(crate) fn parse(schedule: &AutomationSchedule) -> Result<Self, String> {
        let AutomationSchedule {
            expression,
            time_zone,
        } = schedule;
        let fields: Vec<&str> = expression.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err(format!(
                "a schedule has five fields (minute, hour, day of month, month, day of week), \
                 and `{expression}` has {}",
                fields.len()
            ));
        };
        let [minute, hour, day, month, weekday] = &KINDS;
        let mut weekdays = weekday.read(weekdays)?;
        // Both 0 and 7 are Sunday.
        if weekdays.has(7) {
            weekdays.bits |= 1;
        }
        Ok(Self {
            minutes: minute.read(minutes)?,
            hours: hour.read(hours)?,
            days: day.read(days)?,
            months: month.read(months)?,
            weekdays,
            // The host's own copy: what the engine does must not depend on
            // files of the machine.
            zone: TimeZoneDatabase::bundled().get(time_zone).map_err(|_| {
                format!(
                    "`{time_zone}` is not a time zone; use a name such as `UTC` or \
                     `Europe/Berlin`"
                )
            })?,
        })
    }

    /// The first occurrence after a time, if there is one in the next ten years.
    pub(crate) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_millisecond(after.as_millis()).ok()?;
        let found = self.find(after)?;
        Some(Timestamp::from_millis(found.as_millisecond()))
    }

    /// Looks through spans of time in which the clock runs evenly, one after
    /// the other.
    fn find(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let horizon = after.checked_add(HORIZON).ok()?;
        let mut offset = self.zone.to_offset(after);
        let mut from = next_minute(offset.to_datetime(after))?;
        if let Some(repeated) = self.repeated_until(after).filter(|_| self.names_hours()) {
            from = from.max(repeated);
        }
        let mut now = after;
        loop {
            let change = self.zone.following(now).next();
            let change = change.map(|change| change.timestamp());
            let end = change.filter(|change| *change <= horizon);
            let until = offset.to_datetime(end.unwrap_or(horizon));
            if let Some(found) = self.first_in(from, until) {
                return offset.to_timestamp(found).ok();
            }
            now = end?;
            offset = self.zone.to_offset(now);
            let resumed = offset.to_datetime(now);
            let skipped = resumed > until && self.first_in(until, resumed).is_some();
            if skipped && self.names_hours() {
                return Some(now);
            }
            from = match self.names_hours() {
                true => resumed.max(until),
                false => resumed,
            };
        }
    }

    /// Whether an occurrence is at certain hours, and not in each.
    fn names_hours(&self) -> bool {
        self.hours.bits != (1 << 24) - 1
    }

    /// If clocks were put back last: what they had shown by then. Until they
    /// show it again, every time is one that has been.
    fn repeated_until(&self, at: jiff::Timestamp) -> Option<DateTime> {
        let tick = SignedDuration::from_nanos(1);
        let change = self.zone.preceding(at.checked_add(tick).ok()?).next()?;
        let before = change.timestamp().checked_sub(tick).ok()?;
        Some(self.zone.to_offset(before).to_datetime(change.timestamp()))
    }

    /// The first time from one to another, without the latter, by what a clock
    /// shows that nobody changes.
    fn first_in(&self, from: DateTime, until: DateTime) -> Option<DateTime> {
        let (mut day, mut earliest) = (from.date(), from.time());
        while day <= until.date() {
            if !self.months.has(day.month()) {
                day = day.last_of_month().tomorrow().ok()?;
                earliest = Time::midnight();
                continue;
            }
            if self.has_day(day)
                && let Some(time) = self.first_time(earliest)
            {
                let found = day.to_datetime(time);
                return (found < until).then_some(found);
            }
            day = day.tomorrow().ok()?;
            earliest = Time::midnight();
        }
        None
    }

    /// If days of the month and of the week are named, either will do.
    fn has_day(&self, day: Date) -> bool {
        let of_month = self.days.has(day.day());
        let of_week = self.weekdays.has(day.weekday().to_sunday_zero_offset());
        match self.days.is_restricted && self.weekdays.is_restricted {
            true => of_month || of_week,
            false => of_month && of_week,
        }
    }

    fn first_time(&self, earliest: Time) -> Option<Time> {
        let hours = (earliest.hour()..24).filter(|hour| self.hours.has(*hour));
        let mut times = hours.flat_map(|hour| {
            let first = match hour == earliest.hour() {
                true => earliest.minute(),
                false => 0,
            };
            let minutes = (first..60).filter(|minute| self.minutes.has(*minute));
            minutes.filter_map(move |minute| Time::new(hour, minute, 0, 0).ok())
        });
        times.find(|time| *time >= earliest)
    }
}

fn next_minute(time: DateTime) -> Option<DateTime> {
    let whole = Time::new(time.hour(), time.minute(), 0, 0).ok()?;
    time.date().to_datetime(whole).checked_add(MINUTE).ok()
}

impl Kind {
    fn read(&self, text: &str) -> Result<Field, String> {
        if text == "*" {
            return Ok(Field {
                bits: self.bits(self.first, self.last, 1),
                is_restricted: false,
            });
        }
        let bits = match text.split_once('/') {
            Some((range, step)) => self.stepped(range, step, text)?,
            None => {
                let mut bits = 0;
                for part in text.split(',') {
                    let (first, last) = self.range(part)?;
                    bits |= self.bits(first, last, 1);
                }
                bits
            }
        };
        Ok(Field {
            bits,
            is_restricted: true,
        })
    }

    /// A step applies to `*` or to one range.
    fn stepped(&self, range: &str, step: &str, text: &str) -> Result<u64, String> {
        let name = self.name;
        let (first, last) = match range {
            "*" => (self.first, self.last),
            range if range.contains('-') => self.range(range)?,
            _ => {
                return Err(format!(
                    "the {name} `{text}` applies a step to something that is neither `*` nor a \
                     range; write `*/2` or `1-10/2`"
                ));
            }
        };
        match number(step).filter(|step| *step > 0) {
            Some(step) => Ok(self.bits(first, last, step)),
            None => Err(format!(
                "the step of the {name} `{text}` is not a positive whole number"
            )),
        }
    }

    /// A value, or a range of values.
    fn range(&self, text: &str) -> Result<(u32, u32), String> {
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None => {
                let value = self.value(text)?;
                (value, value)
            }
        };
        match first <= last {
            true => Ok((first, last)),
            false => Err(format!(
                "the range `{text}` of the {} ends before it begins; put the smaller value first",
                self.name
            )),
        }
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let mut words = self.words.iter();
        let word = words.position(|word| word.eq_ignore_ascii_case(text));
        let word = word.and_then(|at| u32::try_from(at).ok());
        let value = word.map(|at| self.first + at).or_else(|| number(text));
        let Self {
            name, first, last, ..
        } = self;
        value
            .filter(|value| (*first..=*last).contains(value))
            .ok_or_else(|| {
                let names = match (self.words.first(), self.words.last()) {
                    (Some(first), Some(last)) => format!(", or `{first}` to `{last}`"),
                    _ => String::new(),
                };
                format!("`{text}` is not a {name}: use `{first}` to `{last}`{names}")
            })
    }

    fn bits(&self, first: u32, last: u32, step: u32) -> u64 {
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        let values = (first..=last).step_by(step);
        values.fold(0, |bits, value| bits | 1 << value)
    }
}

/// A number in plain digits, as `parse` also takes signs.
fn number(text: &str) -> Option<u32> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests;
