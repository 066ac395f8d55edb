//! Both stores find the same, whatever was said and whatever is looked for;
//! only the order of hits is their own.

use std::time::Duration;

use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::record::search::{SearchField, SearchFilter, SearchHit, SearchQuery};
use innkeeper_protocol::record::store::{Archive, Store};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_store::{SqliteStore, StoreOptions};
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::records::{batch, iso, of, put_chat, put_session};
use serde_json::json;

use crate::common::{House, is_there};

/// Words that meet each other in part, of several scripts, and what stands
/// between words.
const WORDS: [&str; 30] = [
    "oak",
    "Oak",
    "oaks",
    "door",
    "DOOR",
    "dóor",
    "src/door.rs",
    "main.rs",
    "the",
    "a",
    "I",
    "straße",
    "STRASSE",
    "ﬁne",
    "fine",
    "東京",
    "東",
    "京都",
    "한국어",
    "naïve",
    "e\u{301}te",
    "été",
    "don't",
    "x_y",
    "x-y",
    "3.14",
    "100%",
    "a\u{0}b",
    "\"",
    "İstanbul",
];
const BETWEEN: [&str; 7] = [" ", "  ", "\n", ", ", "-", "/", ""];

/// Numbers that look like chance, and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        let Self(state) = self;
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(*state >> 33).unwrap() % most
    }

    fn text(&mut self, most: usize) -> String {
        let words = 1 + self.below(most);
        let mut text = String::new();
        for _ in 0..words {
            text.push_str(WORDS[self.below(WORDS.len())]);
            text.push_str(BETWEEN[self.below(BETWEEN.len())]);
        }
        text
    }

    /// Words, phrases, and the beginning of a word at the end.
    fn query(&mut self) -> String {
        let mut query = self.text(3);
        if self.below(3) == 0 {
            query = format!("{query} \"{}\"", self.text(2).replace('"', ""));
        }
        if self.below(2) == 0 {
            let word: Vec<char> = WORDS[self.below(WORDS.len())].chars().collect();
            let end = 1 + self.below(word.len());
            query = format!("{query} {}", word[..end].iter().collect::<String>());
        }
        query
    }
}

fn said(chance: &mut Chance) -> Vec<StoreOp> {
    let mut ops = Vec::new();
    for number in 0..40_u64 {
        let (session, chat) = (
            format!("ahp-session:/{number}"),
            format!("ahp-chat:/{number}"),
        );
        // A title is shown, and loses there what PostgreSQL does not have.
        let title = chance.text(3).replace('\0', "");
        ops.push(put_session(&session, &title, 10));
        ops.push(put_chat(&chat, &session, number, None));
        for place in 0..4_u64 {
            let turn = json!({
                "id": format!("{number}-{place}"), "startedAt": iso(7), "duration": 3,
                "state": "complete",
                "message": {"text": chance.text(6), "origin": {"kind": "user"}},
                "responseParts": [
                    {"kind": "markdown", "id": "m", "content": chance.text(12)},
                    {"kind": "reasoning", "id": "r", "content": chance.text(4)},
                ],
            });
            ops.push(StoreOp::AppendTurn {
                chat: chat.as_str().into(),
                index: place,
                turn: StoredTurn::new(&of(turn)).unwrap(),
            });
        }
    }
    ops
}

/// All that is found, on however many pages.
fn found(archive: &dyn Archive, text: &str, fields: &[SearchField]) -> Vec<SearchHit> {
    let mut query = SearchQuery {
        text: text.to_owned(),
        fields: fields.to_vec(),
        filter: SearchFilter::default(),
        limit: 50,
        cursor: None,
        time: Duration::MAX,
    };
    let mut hits = Vec::new();
    loop {
        let page = archive.search(&query).unwrap();
        assert!(!page.truncated && !page.indexing, "{text:?}");
        hits.extend(page.items);
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => break,
        }
    }
    let key = |hit: &SearchHit| (hit.chat.to_string(), hit.turn_id.clone());
    hits.sort_by_key(key);
    hits
}

#[test]
fn both_stores_find_the_same() {
    if !is_there() {
        return;
    }
    let mut chance = Chance(7);
    let ops = said(&mut chance);
    let dir = tempfile::tempdir().unwrap();
    let mut house = House::new();
    let mut stores: [Box<dyn Store>; 2] = [
        Box::new(SqliteStore::open(dir.path(), StoreOptions::default()).unwrap()),
        Box::new(house.open(&Opening::default())),
    ];
    for store in &mut stores {
        store.begin().unwrap();
        store.apply(&[batch(ops.clone())]).unwrap();
        while store.tend(Duration::ZERO).unwrap().is_behind {}
    }
    let [file, database] = stores.each_ref().map(|store| store.archive().unwrap());
    let mut times = 0;
    for _ in 0..400 {
        let text = chance.query();
        let fields = match chance.below(2) {
            0 => SearchField::ALL.as_slice(),
            _ => &[SearchField::Answer, SearchField::Title],
        };
        let expected = found(&*file, &text, fields);
        times += usize::from(!expected.is_empty());
        assert_eq!(found(&*database, &text, fields), expected, "{text:?}");
    }
    assert!(times > 100, "only {times} queries found anything");
}
