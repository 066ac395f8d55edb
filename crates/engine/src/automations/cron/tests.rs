//! When schedules occur, by example.

use super::*;

fn schedule(expression: &str, zone: &str) -> Result<Schedule, String> {
    Schedule::parse(&AutomationSchedule {
        expression: expression.to_owned(),
        time_zone: zone.to_owned(),
    })
}

/// The first occurrences after a time, as an ISO 8601 timestamp each.
fn occurrences(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = schedule(expression, zone).unwrap();
    let first = Timestamp::parse(after).unwrap();
    let next = |at: &Timestamp| schedule.next_after(*at);
    let all = std::iter::successors(next(&first), next);
    all.take(count)
        .map(|at| at.to_string().replace(":00.000Z", "Z"))
        .collect()
}

#[test]
fn expressions_of_the_grammar_occur_when_they_say() {
    let cases: &[(&str, &[&str])] = &[
        ("* * * * *", &["2026-01-01T00:01Z", "2026-01-01T00:02Z"]),
        ("*/15 * * * *", &["2026-01-01T00:15Z", "2026-01-01T00:30Z"]),
        ("*/90 * * * *", &["2026-01-01T01:00Z", "2026-01-01T02:00Z"]),
        (
            "5-30/10 2 * * *",
            &[
                "2026-01-01T02:05Z",
                "2026-01-01T02:15Z",
                "2026-01-01T02:25Z",
                "2026-01-02T02:05Z",
            ],
        ),
        (
            "0 9,12,20-21 * * *",
            &[
                "2026-01-01T09:00Z",
                "2026-01-01T12:00Z",
                "2026-01-01T20:00Z",
                "2026-01-01T21:00Z",
            ],
        ),
        ("0 0 29 2 *", &["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
        ("0 0 31 * *", &["2026-01-31T00:00Z", "2026-03-31T00:00Z"]),
        (
            "0 0 1 jan-Mar/2 *",
            &["2026-03-01T00:00Z", "2027-01-01T00:00Z"],
        ),
        // The first of January 2026 is a Thursday.
        (
            "0 9 * * MON-FRI",
            &[
                "2026-01-01T09:00Z",
                "2026-01-02T09:00Z",
                "2026-01-05T09:00Z",
            ],
        ),
        ("0 9 * * 0", &["2026-01-04T09:00Z", "2026-01-11T09:00Z"]),
        ("0 9 * * 7", &["2026-01-04T09:00Z", "2026-01-11T09:00Z"]),
        (
            "0 9 * * 5-7",
            &[
                "2026-01-02T09:00Z",
                "2026-01-03T09:00Z",
                "2026-01-04T09:00Z",
            ],
        ),
        // Either of the days, if both are named; a step names days, too.
        (
            "0 0 13 * fri",
            &[
                "2026-01-02T00:00Z",
                "2026-01-09T00:00Z",
                "2026-01-13T00:00Z",
            ],
        ),
        (
            "0 0 */30 * fri",
            &[
                "2026-01-02T00:00Z",
                "2026-01-09T00:00Z",
                "2026-01-16T00:00Z",
            ],
        ),
        ("0 0 13 * *", &["2026-01-13T00:00Z", "2026-02-13T00:00Z"]),
        (" 0\t0  31 2 * ", &[]),
    ];
    for (expression, expected) in cases {
        let found = occurrences(
            expression,
            "UTC",
            "2026-01-01T00:00:00Z",
            expected.len().max(1),
        );
        assert_eq!(found, *expected, "{expression}");
    }
}

#[test]
fn what_is_not_in_the_grammar_is_refused() {
    for expression in [
        "",
        "* * * *",
        "* * * * * *",
        "@daily",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * 0 *",
        "* * * * 8",
        "* * ? * *",
        "* * L * *",
        "* * 15W * *",
        "* * * * 5#3",
        "5/10 * * * *",
        "*/0 * * * *",
        "*/-1 * * * *",
        "*/x * * * *",
        "1-10/2,20 * * * *",
        "*,5 * * * *",
        "10-5 * * * *",
        "+5 * * * *",
        "1- * * * *",
        "-1 * * * *",
        ", * * * *",
        "* * * FOO *",
        "* * * * FRI-SUN",
        "1.5 * * * *",
        "* JAN * * *",
    ] {
        assert!(schedule(expression, "UTC").is_err(), "{expression}");
    }
    for zone in ["", "Berlin", "UTC+1", "Europe/Atlantis", "../etc/passwd"] {
        let why = schedule("* * * * *", zone).unwrap_err();
        assert!(why.contains("time zone"), "{zone}: {why}");
    }
}

#[test]
fn a_schedule_occurs_by_the_clocks_of_its_time_zone() {
    let cases = [
        (
            "0 9 * * *",
            "Europe/Berlin",
            "2026-01-01T00:00:00Z",
            "2026-01-01T08:00Z",
        ),
        (
            "0 9 * * *",
            "Europe/Berlin",
            "2026-07-01T00:00:00Z",
            "2026-07-01T07:00Z",
        ),
        (
            "0 9 * * *",
            "Asia/Kolkata",
            "2026-01-01T00:00:00Z",
            "2026-01-01T03:30Z",
        ),
        (
            "0 9 1 * *",
            "Pacific/Auckland",
            "2026-01-01T00:00:00Z",
            "2026-01-31T20:00Z",
        ),
    ];
    for (expression, zone, after, expected) in cases {
        assert_eq!(
            occurrences(expression, zone, after, 1),
            [expected],
            "{zone}"
        );
    }
}

/// In Berlin, clocks went from 02:00 to 03:00 at 01:00Z on 29 March 2026.
#[test]
fn a_time_that_is_skipped_is_made_up_for_after_the_gap_and_only_once() {
    let day = "2026-03-28T12:00:00Z";
    let cases: &[(&str, &[&str])] = &[
        ("30 2 * * *", &["2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
        ("*/15 2 * * *", &["2026-03-29T01:00Z", "2026-03-30T00:00Z"]),
        (
            "30 1,2,3 * * *",
            &[
                "2026-03-29T00:30Z",
                "2026-03-29T01:00Z",
                "2026-03-29T01:30Z",
            ],
        ),
        ("0 3 * * *", &["2026-03-29T01:00Z", "2026-03-30T01:00Z"]),
    ];
    for (expression, expected) in cases {
        let found = occurrences(expression, "Europe/Berlin", day, expected.len());
        assert_eq!(found, *expected, "{expression}");
    }
    let hourly = occurrences("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3);
    assert_eq!(
        hourly,
        [
            "2026-03-29T00:30Z",
            "2026-03-29T01:30Z",
            "2026-03-29T02:30Z"
        ]
    );
}

/// In Berlin, clocks went from 03:00 to 02:00 at 01:00Z on 25 October 2026.
#[test]
fn a_time_that_comes_twice_counts_the_first_time_and_every_hour_is_an_hour() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "30 2 * * *",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
        ),
        // Also if it is looked for within the repeated hour.
        ("30 2 * * *", "2026-10-25T01:10:00Z", &["2026-10-26T01:30Z"]),
        ("30 2 * * *", "2026-10-25T01:00:00Z", &["2026-10-26T01:30Z"]),
        (
            "0 3 * * *",
            "2026-10-25T00:30:00Z",
            &["2026-10-25T02:00Z", "2026-10-26T02:00Z"],
        ),
        (
            "30 * * * *",
            "2026-10-25T00:00:00Z",
            &[
                "2026-10-25T00:30Z",
                "2026-10-25T01:30Z",
                "2026-10-25T02:30Z",
            ],
        ),
    ];
    for (expression, after, expected) in cases {
        let found = occurrences(expression, "Europe/Berlin", after, expected.len());
        assert_eq!(found, *expected, "{expression} after {after}");
    }
}

/// Lord Howe Island changes its clocks by half an hour.
#[test]
fn half_an_hour_is_skipped_and_repeated_likewise() {
    let skipped = occurrences(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T00:00:00Z",
        1,
    );
    assert_eq!(skipped, ["2026-10-03T15:30Z"]);
    let repeated = occurrences(
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T00:00:00Z",
        2,
    );
    assert_eq!(repeated, ["2026-04-04T14:45Z", "2026-04-05T15:15Z"]);
}

proptest::proptest! {
    /// Compared with looking at every minute.
    #[test]
    fn no_occurrence_is_left_out_and_none_is_made_up(
        minutes in "(\\*|\\*/[1-9][0-9]?|[0-5]?[0-9]|[0-2][0-9]-[3-5][0-9]/7)",
        hours in "(\\*|\\*/[1-9]|[0-9]|1[0-9],2[0-3]|[0-9]-1[0-9])",
        days in "(\\*|[1-9]|1[0-9]-2[0-9]|\\*/[2-9])",
        weekdays in "(\\*|[0-7]|[0-3]-[4-7])",
        start in 0_i64..40_000_000,
    ) {
        let expression = format!("{minutes} {hours} {days} * {weekdays}");
        let schedule = schedule(&expression, "UTC").unwrap();
        let occurs = |minute: i64| {
            let time = jiff::Timestamp::from_second(minute * 60).unwrap();
            let time = jiff::tz::Offset::UTC.to_datetime(time);
            schedule.minutes.has(time.minute())
                && schedule.hours.has(time.hour())
                && schedule.has_day(time.date())
        };
        let end = start + 2 * 24 * 60;
        let expected = (start + 1..=end).find(|minute| occurs(*minute));
        let found = schedule.next_after(Timestamp::from_millis(start * 60_000));
        let found = found.map(|at| at.as_millis() / 60_000).filter(|at| *at <= end);
        proptest::prop_assert_eq!(found, expected, "{}", expression);
    }
}
