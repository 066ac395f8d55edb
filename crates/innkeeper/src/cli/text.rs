//! Text for terminals: tables, times, and nothing that could control them.

use innkeeper_protocol::Timestamp;
use innkeeper_workspace::path_of_uri;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Takes out what a terminal would obey rather than show.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// The same, on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Where something is, as people write it: a path of this machine, or the URI.
pub(crate) fn place(uri: &str) -> String {
    match path_of_uri(uri) {
        Ok(path) => one_line(&path.to_string_lossy()),
        Err(_) => one_line(uri),
    }
}

/// An error with its causes, each said once: many of them quote their own.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

/// Cuts a text that takes more than `most` columns.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken < most
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// Lines up columns, as wide as a terminal shows them. The first row is the
/// heading.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell}{:1$}  ", "", width - cell.width()))
            .collect();
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

/// How long ago something was, roughly; a date if that says more.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.millis_since(then) / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match () {
        () if minutes < 1 => "just now".to_owned(),
        () if hours < 1 => format!("{minutes} min ago"),
        () if days < 1 => format!("{hours} h ago"),
        () if days < 14 => format!("{days} d ago"),
        () => then.to_string().chars().take(10).collect(),
    }
}

/// How long something took, in the largest units that matter.
pub(crate) fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match () {
        () if minutes < 1 => format!("{seconds} s"),
        () if hours < 1 => format!("{minutes} min"),
        () if days < 1 => format!("{hours} h {} min", minutes % 60),
        () => format!("{days} d {} h", hours % 24),
    }
}

/// `1 session`, `2 sessions`.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// `1 day`, `30 days`.
pub(crate) fn days(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "day")
}

/// So many bytes, roughly: `512 bytes`, `1.5 KiB`, `103.0 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = None;
    for larger in UNITS {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = Some(larger);
    }
    match unit {
        None => count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        Some(unit) => format!("{size:.1} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_not_shown() {
        assert_eq!(printable("a\u{1b}[31mb\nc\td\r"), "a[31mb\nc\td");
        assert_eq!(one_line(" a \n b\u{7}"), "a b");
    }

    #[test]
    fn places_are_written_as_paths_where_they_are_on_this_machine() {
        for (uri, shown) in [
            ("file:///inn/b%20c/%E5%AE%BF", "/inn/b c/宿"),
            ("file:///a%0Ab", "/a b"),
            ("virtual://phone/a%20b", "virtual://phone/a%20b"),
        ] {
            assert_eq!(place(uri), shown);
        }
    }

    #[test]
    fn columns_line_up_and_lines_end_where_their_text_ends() {
        let rows = [["ID", "TITLE"], ["é1", "x"], ["123", "long"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "ID   TITLE\né1   x\n123  long\n");
    }

    #[test]
    fn what_takes_two_columns_counts_as_two() {
        let rows = [["TITLE", "AGENT"], ["宿屋", "a"], ["🛌 inn", "b"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "TITLE   AGENT\n宿屋    a\n🛌 inn  b\n");
        assert_eq!(shortened("宿屋", 4), "宿屋");
        assert_eq!(shortened("宿屋の", 5), "宿屋…");
        assert_eq!(shortened("宿屋の", 4), "宿…");
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = std::io::Error::other("the disk is gone");
        let error = anyhow::Error::new(cause).context("failed: the disk is gone. Find it");
        assert_eq!(told(&error), "failed: the disk is gone. Find it");
        assert_eq!(
            told(&error.context("no luck")),
            "no luck: failed: the disk is gone. Find it"
        );
    }

    #[test]
    fn sizes_have_the_unit_that_suits_them() {
        for (bytes, told) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (103 << 20, "103.0 MiB"),
            (5 << 40, "5.0 TiB"),
            (5 << 50, "5120.0 TiB"),
        ] {
            assert_eq!(size(bytes), told);
        }
    }

    #[test]
    fn durations_have_the_units_that_matter() {
        for (seconds, told) in [
            (59, "59 s"),
            (60, "1 min"),
            (3_660, "1 h 1 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(seconds), told);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("four", 4), "four");
        assert_eq!(shortened("a fifth", 3), "a…");
    }

    #[test]
    fn times_are_told_by_their_distance() {
        let now = Timestamp::from_millis(1_773_168_123_045);
        let before = |seconds: i64| {
            ago(
                Timestamp::from_millis(now.as_millis() - seconds * 1_000),
                now,
            )
        };
        assert_eq!(before(-5), "just now");
        assert_eq!(before(59), "just now");
        assert_eq!(before(60), "1 min ago");
        assert_eq!(before(7_200), "2 h ago");
        assert_eq!(before(13 * 86_400), "13 d ago");
        assert_eq!(before(14 * 86_400), "2026-02-24");
    }
}
