//! Finding what was said, and counting what it cost.

use std::time::Duration;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::record::search::{
    SearchField, SearchFilter, SearchHit, SearchPage, SearchQuery, UsageQuery, UsageRow,
};
use innkeeper_protocol::snapshot::StoredTurn;
use serde_json::{Value, json};

use crate::records::*;
use crate::{Opening, Stage, Subject};

const SESSION: &str = "ahp-session:/1";
const SECOND: &str = "ahp-session:/2";

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        fields: SearchField::ALL.to_vec(),
        filter: SearchFilter::default(),
        limit: 20,
        cursor: None,
        time: Duration::MAX,
    }
}

fn chat_of(session: &str) -> String {
    ChannelUri::default_chat_of(session).to_string()
}

fn said(session: &str, place: u64, id: &str, at: i64, text: &str) -> StoreOp {
    turn_with(&chat_of(session), place, id, at, text, json!([]))
}

fn turn_with(chat: &str, place: u64, id: &str, at: i64, text: &str, parts: Value) -> StoreOp {
    put_turn(
        chat,
        place,
        json!({
            "id": id, "startedAt": iso(at), "duration": 3, "state": "complete",
            "responseParts": parts, "message": {"text": text, "origin": {"kind": "user"}},
        }),
    )
}

fn put_turn(chat: &str, place: u64, turn: Value) -> StoreOp {
    StoreOp::AppendTurn {
        chat: chat.into(),
        index: place,
        turn: StoredTurn::new(&of(turn)).unwrap(),
    }
}

fn begin(session: &str, title: &str) -> [StoreOp; 2] {
    let chat = chat_of(session);
    [
        put_session(session, title, 10),
        put_chat(&chat, session, 1, None),
    ]
}

impl<S: Subject> Stage<S> {
    /// Looks after the store until it has nothing more to do.
    fn settle(&mut self) {
        while self.store.tend(Duration::ZERO).unwrap().is_behind {}
    }

    fn search(&self, query: &SearchQuery) -> SearchPage {
        self.archive.search(query).unwrap()
    }

    /// The turns that are found, and titles by the name of their chat.
    fn found(&self, text: &str) -> Vec<String> {
        names(&self.search(&query(text)).items)
    }

    fn found_sorted(&self, query: &SearchQuery) -> Vec<String> {
        let mut names = names(&self.search(query).items);
        names.sort();
        names
    }
}

fn names(hits: &[SearchHit]) -> Vec<String> {
    let name = |hit: &SearchHit| match &hit.turn_id {
        Some(id) => id.to_string(),
        None => hit.chat.to_string(),
    };
    hits.iter().map(name).collect()
}

/// Two sessions with something to find.
fn stage<S: Subject>(new: fn() -> S) -> Stage<S> {
    let mut stage = Stage::new(new());
    let chat = chat_of(SESSION);
    let parts = json!([
        {"kind": "reasoning", "id": "r", "content": "perhaps a lantern"},
        {"kind": "toolCall", "toolCall": {
            "status": "completed", "toolCallId": "c", "toolName": "bash", "displayName": "Shell",
            "invocationMessage": "Running", "toolInput": "cargo build --release",
            "success": true, "pastTenseMessage": "Ran", "content": []}},
        {"kind": "markdown", "id": "m", "content": "The **oak door** is in src/door.rs"},
    ]);
    stage.apply(begin(SESSION, "Repair the roof"));
    stage.apply(begin(SECOND, "Sweep the yard"));
    stage.apply([
        turn_with(&chat, 0, "t0", 1_000, "Where is the door?", parts),
        said(SESSION, 1, "t1", 2_000, "Now the chimney, s'il vous plaît"),
        said(SECOND, 0, "u0", 3_000, "A door in the yard"),
    ]);
    stage.settle();
    stage
}

pub fn what_was_said_thought_called_and_titled_is_found_with_a_snippet<S: Subject>(new: fn() -> S) {
    let stage = stage(new);
    for (text, name, field, shown) in [
        (
            "roof",
            &*chat_of(SESSION),
            SearchField::Title,
            "Repair the [roof]",
        ),
        ("where", "t0", SearchField::Message, "[Where] is the door?"),
        (
            "oak",
            "t0",
            SearchField::Answer,
            "The **[oak] door** is in src/door.rs",
        ),
        (
            "cargo build",
            "t0",
            SearchField::Tool,
            "bash Shell Running [cargo] [build] --release",
        ),
        (
            "lantern",
            "t0",
            SearchField::Reasoning,
            "perhaps a [lantern]",
        ),
        (
            "PLAIT",
            "t1",
            SearchField::Message,
            "Now the chimney, s'il vous [plaît]",
        ),
        (
            "src/door.rs",
            "t0",
            SearchField::Answer,
            "The **oak door** is in [src/door.rs]",
        ),
        (
            "chim",
            "t1",
            SearchField::Message,
            "Now the [chimney], s'il vous plaît",
        ),
        (
            "\"the chimney\"",
            "t1",
            SearchField::Message,
            "Now [the chimney], s'il vous plaît",
        ),
    ] {
        let page = stage.search(&query(text));
        assert_eq!(names(&page.items), [name], "{text}");
        assert!(!page.indexing && !page.truncated && page.next_cursor.is_none());
        let hit = &page.items[0];
        assert_eq!(
            (hit.field, marked(hit)),
            (field, shown.to_owned()),
            "{text}"
        );
        assert_eq!(hit.session, SESSION.into());
        assert_eq!(
            (&*hit.session_title, &*hit.provider),
            ("Repair the roof", "script")
        );
        assert!(!hit.archived);
    }
    assert_eq!(
        stage.search(&query("where")).items[0].at,
        Timestamp::from_millis(1_000)
    );
    for text in [
        "chimne ",
        "\"chimney the\"",
        "door chimney",
        "returned",
        "c",
    ] {
        assert_eq!(stage.found(text), <[&str; 0]>::default(), "{text}");
    }
}

fn marked(hit: &SearchHit) -> String {
    let units: Vec<u16> = hit.snippet.text.encode_utf16().collect();
    let mut shown = String::new();
    let mut at = 0;
    for &(from, to) in &hit.snippet.marks {
        shown += &String::from_utf16_lossy(&units[at..from]);
        shown += &format!("[{}]", String::from_utf16_lossy(&units[from..to]));
        at = to;
    }
    shown + &String::from_utf16_lossy(&units[at..])
}

pub fn a_title_counts_more_than_an_answer<S: Subject>(new: fn() -> S) {
    let stage = stage(new);
    assert_eq!(stage.found("yard"), [chat_of(SECOND), "u0".to_owned()]);
}

pub fn only_the_fields_that_are_asked_for_are_searched<S: Subject>(new: fn() -> S) {
    let stage = stage(new);
    let only = |fields: &[SearchField], text: &str| {
        stage.found_sorted(&SearchQuery {
            fields: fields.to_vec(),
            ..query(text)
        })
    };
    assert_eq!(only(&[SearchField::Message], "door"), ["t0", "u0"]);
    assert_eq!(only(&[SearchField::Answer], "door"), ["t0"]);
    assert_eq!(only(&[SearchField::Title], "door"), [""; 0]);
    assert_eq!(only(&[], "door"), [""; 0]);
}

pub fn filters_leave_out_what_is_not_wanted<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    let mut archived = session(SECOND, "Sweep the yard", 10);
    archived.summary.provider = "other".into();
    archived.summary.status |= 64;
    archived.summary.working_directories = Some(vec!["file:///inn/yard".into()]);
    stage.apply([StoreOp::PutSession(Box::new(archived))]);
    let at = |millis| Some(Timestamp::from_millis(millis));
    let none = SearchFilter::default();
    for (filter, found) in [
        (none.clone(), vec!["t0", "u0"]),
        (
            SearchFilter {
                session: Some(SESSION.into()),
                ..none.clone()
            },
            vec!["t0"],
        ),
        (
            SearchFilter {
                session: Some("ahp-session:/9".into()),
                ..none.clone()
            },
            vec![],
        ),
        (
            SearchFilter {
                provider: Some("other".into()),
                ..none.clone()
            },
            vec!["u0"],
        ),
        (
            SearchFilter {
                archived: Some(false),
                ..none.clone()
            },
            vec!["t0"],
        ),
        (
            SearchFilter {
                archived: Some(true),
                ..none.clone()
            },
            vec!["u0"],
        ),
        (
            SearchFilter {
                directory: Some("file:///inn".into()),
                ..none.clone()
            },
            vec!["u0"],
        ),
        (
            SearchFilter {
                directory: Some("file:///in".into()),
                ..none.clone()
            },
            vec![],
        ),
        (
            SearchFilter {
                after: at(3_000),
                ..none.clone()
            },
            vec!["u0"],
        ),
        (
            SearchFilter {
                before: at(3_000),
                ..none.clone()
            },
            vec!["t0"],
        ),
        (
            SearchFilter {
                after: at(1_001),
                before: at(3_000),
                ..none.clone()
            },
            vec![],
        ),
    ] {
        let asked = SearchQuery {
            filter,
            ..query("door")
        };
        assert_eq!(stage.found_sorted(&asked), found, "{:?}", asked.filter);
    }
    let hit = &stage.search(&query("yard")).items[0];
    assert!(hit.archived && hit.provider == "other");
}

pub fn pages_show_everything_once_and_in_order<S: Subject>(new: fn() -> S) {
    let mut stage = Stage::new(new());
    stage.apply(begin(SESSION, "Pages"));
    let turns = (0..30).map(|place| {
        let text = "word ".repeat(1 + place as usize % 3);
        said(SESSION, place, &format!("t{place}"), 1, &text)
    });
    stage.apply(turns.collect::<Vec<_>>());
    stage.settle();
    let all = stage.search(&SearchQuery {
        limit: 100,
        ..query("word")
    });
    assert_eq!(all.items.len(), 30);
    assert!(all.next_cursor.is_none());
    let mut paged = Vec::new();
    let mut cursor = None;
    loop {
        let page = stage.search(&SearchQuery {
            limit: 7,
            cursor,
            ..query("word")
        });
        assert!(page.items.len() <= 7);
        paged.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, all.items);
}

pub fn nothing_that_is_typed_is_an_error<S: Subject>(new: fn() -> S) {
    let stage = stage(new);
    let long = "door ".repeat(5_000);
    for text in [
        "",
        " ",
        "\"",
        "\"\"\"",
        "*",
        "door*",
        "-door",
        "NOT door",
        "door AND",
        "OR",
        "NEAR(door, 2)",
        "title:door",
        "{title} : door",
        "^door",
        "door'; DROP TABLE search; --",
        "\0door\0",
        "(",
        ")",
        "door\u{301}",
        "\u{fffd}\u{10ffff}",
        "%",
        "_",
        "\\",
        &long,
    ] {
        stage.search(&query(text));
    }
    assert_eq!(stage.found("door*").len(), 2);
    assert_eq!(stage.found(&long).len(), 2);
}

pub fn a_search_ends_when_its_time_is_over<S: Subject>(new: fn() -> S) {
    let stage = stage(new);
    let page = stage.search(&SearchQuery {
        time: Duration::ZERO,
        ..query("door")
    });
    assert!(page.items.is_empty() && page.truncated);
}

pub fn what_is_gone_is_not_found_from_the_commit_on<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    let chat = chat_of(SESSION);
    stage.apply([StoreOp::TruncateTurns {
        chat: chat.clone().into(),
        keep: 1,
    }]);
    assert_eq!(stage.found("chimney"), <[&str; 0]>::default());
    stage.apply([said(SESSION, 1, "t2", 4_000, "Another window")]);
    assert_eq!(stage.found("chimney"), <[&str; 0]>::default());
    stage.settle();
    assert_eq!(stage.found("chimney"), <[&str; 0]>::default());
    assert_eq!(stage.found("window"), ["t2"]);
    stage.apply([dispose(SECOND, 20)]);
    assert_eq!(stage.found("yard"), <[&str; 0]>::default());
    stage.apply([StoreOp::DeleteChat { chat: chat.into() }]);
    assert_eq!(stage.found("door"), <[&str; 0]>::default());
    stage.settle();
    assert_eq!(stage.found("door"), <[&str; 0]>::default());
}

pub fn a_session_that_is_brought_back_is_found_again<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    stage.apply([dispose(SECOND, 20)]);
    stage.settle();
    assert!(stage.store.restore(&SECOND.into()).unwrap());
    stage.settle();
    assert_eq!(stage.found("yard"), [chat_of(SECOND), "u0".to_owned()]);
    assert!(stage.store.delete(&SECOND.into()).unwrap());
    stage.settle();
    assert_eq!(stage.found("yard"), <[&str; 0]>::default());
}

pub fn a_title_that_changed_is_found_by_its_new_words<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    stage.apply([put_session(SESSION, "Mend the fence", 11)]);
    stage.settle();
    assert_eq!(stage.found("fence"), [chat_of(SESSION)]);
    assert_eq!(stage.found("roof"), <[&str; 0]>::default());
    assert_eq!(stage.found("chimney"), ["t1"]);
}

pub fn a_further_chat_is_found_by_what_its_session_lists_it_as<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    let further = "ahp-chat:/further";
    let listed = |title: &str| {
        let mut record = session(SESSION, "Repair the roof", 11);
        let listed = json!([
            {"resource": chat_of(SESSION), "title": "not this"},
            {"resource": further, "title": title},
        ]);
        record.summary.chats = Some(of(listed));
        StoreOp::PutSession(Box::new(record))
    };
    stage.apply([listed("Gutters"), put_chat(further, SESSION, 5, None)]);
    stage.apply([listed("Tiles")]);
    stage.apply([put_chat(further, SESSION, 6, None)]);
    stage.settle();
    let hit = &stage.search(&query("tiles")).items[0];
    assert_eq!((&*hit.chat_title, hit.chat.as_str()), ("Tiles", further));
    for text in ["gutters", "not this"] {
        assert_eq!(stage.found(text), <[&str; 0]>::default(), "{text}");
    }
    let hit = &stage.search(&query("roof")).items[0];
    assert_eq!(&*hit.chat_title, "Repair the roof");
}

pub fn a_chat_that_moved_is_found_where_it_is<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    let further = "ahp-chat:/further";
    stage.apply([
        put_chat(further, SESSION, 5, None),
        turn_saying(further, 0, "f0", "A ladder"),
    ]);
    stage.settle();
    stage.apply([put_chat(further, SECOND, 6, None)]);
    stage.settle();
    let hit = &stage.search(&query("ladder")).items[0];
    assert_eq!((&hit.session, &hit.chat), (&SECOND.into(), &further.into()));
}

pub fn what_was_stored_before_a_crash_is_found_after_it<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    stage.apply([said(SESSION, 2, "t2", 4_000, "A bucket")]);
    let mut stage = stage.crash();
    stage.settle();
    assert_eq!(stage.found("bucket"), ["t2"]);
    assert_eq!(stage.found("chimney"), ["t1"]);
}

pub fn a_store_that_was_closed_is_found_complete<S: Subject>(new: fn() -> S) {
    let mut stage = stage(new);
    stage.apply([said(SESSION, 2, "t2", 4_000, "A bucket")]);
    let stage = stage.restart();
    assert_eq!(stage.found("bucket"), ["t2"]);
}

fn costing(session: &str, place: u64, id: &str, at: i64, usage: Value) -> StoreOp {
    put_turn(
        &chat_of(session),
        place,
        json!({
            "id": id, "startedAt": iso(at), "duration": 3, "state": "complete", "responseParts": [],
            "message": {"text": "hi", "origin": {"kind": "user"}}, "usage": usage,
        }),
    )
}

const DAY: i64 = 86_400_000;

fn row(day: &str, turns: u64, input: u64, cost: Option<f64>) -> UsageRow {
    UsageRow {
        day: day.to_owned(),
        provider: "script".to_owned(),
        model: Some("m".to_owned()),
        turns,
        input_tokens: input,
        output_tokens: 2 * turns,
        cache_read_tokens: turns,
        cost: cost.map(|amount| innkeeper_protocol::record::search::Cost {
            amount,
            currency: "USD".to_owned(),
        }),
    }
}

fn usage_stage<S: Subject>(new: fn() -> S) -> Stage<S> {
    let mut stage = Stage::new(new());
    let used = |input: u64| {
        json!({
            "inputTokens": input, "outputTokens": 2, "cacheReadTokens": 1, "model": "m",
            "_meta": {"cost": {"amount": 0.25, "currency": "USD"}},
        })
    };
    let copy = costing(SECOND, 0, "t0", 1_000, used(10));
    stage.apply(begin(SESSION, "One"));
    stage.apply(begin(SECOND, "Two"));
    stage.apply([
        costing(SESSION, 0, "t0", 1_000, used(10)),
        costing(SESSION, 1, "t1", 2_000, used(30)),
        said(SESSION, 2, "t2", 3_000, "says nothing about its cost"),
    ]);
    stage.settle();
    stage.apply([copy, costing(SECOND, 1, "u1", DAY, used(500))]);
    stage.settle();
    stage
}

fn usage_of<S: Subject>(stage: &Stage<S>, query: &UsageQuery) -> Vec<UsageRow> {
    let page = stage.archive.usage(query).unwrap();
    assert!(!page.indexing);
    page.items
}

pub fn turns_are_counted_by_day_and_a_copy_counts_once<S: Subject>(new: fn() -> S) {
    let stage = usage_stage(new);
    let all = UsageQuery {
        limit: 10,
        ..UsageQuery::default()
    };
    let (first, second) = (
        row("1970-01-01", 2, 40, Some(0.5)),
        row("1970-01-02", 1, 500, Some(0.25)),
    );
    assert_eq!(usage_of(&stage, &all), [second.clone(), first.clone()]);
    let at = |millis| Some(Timestamp::from_millis(millis));
    let from = UsageQuery {
        from: at(DAY),
        ..all.clone()
    };
    assert_eq!(usage_of(&stage, &from), std::slice::from_ref(&second));
    let to = UsageQuery {
        to: at(DAY),
        ..all.clone()
    };
    assert_eq!(usage_of(&stage, &to), std::slice::from_ref(&first));
    let of_session = UsageQuery {
        session: Some(SECOND.into()),
        ..all.clone()
    };
    assert_eq!(usage_of(&stage, &of_session), std::slice::from_ref(&second));
    let west = UsageQuery {
        utc_offset_minutes: -60,
        ..all.clone()
    };
    let days: Vec<String> = usage_of(&stage, &west)
        .into_iter()
        .map(|row| row.day)
        .collect();
    assert_eq!(days, ["1970-01-01", "1969-12-31"]);
    let page = stage
        .archive
        .usage(&UsageQuery { limit: 1, ..all })
        .unwrap();
    assert!(page.truncated);
    assert_eq!(page.items, [second]);
}

pub fn what_was_paid_for_counts_when_it_is_gone<S: Subject>(new: fn() -> S) {
    let mut stage = usage_stage(new);
    let all = UsageQuery {
        limit: 10,
        ..UsageQuery::default()
    };
    let before = usage_of(&stage, &all);
    stage.apply([StoreOp::TruncateTurns {
        chat: chat_of(SESSION).into(),
        keep: 0,
    }]);
    stage.apply([dispose(SECOND, 20)]);
    stage.settle();
    let mut stage = stage.restart_with(&Opening {
        keep_disposed_days: 0,
        ..Opening::default()
    });
    stage.settle();
    assert_eq!(usage_of(&stage, &all), before);
    let of_gone = UsageQuery {
        session: Some(SECOND.into()),
        ..all
    };
    assert_eq!(usage_of(&stage, &of_gone), []);
}
