//! What is read of the log, however it is laid out.

use innkeeper_protocol::Seq;
use innkeeper_protocol::record::StoreOp;

use crate::records::*;
use crate::{Stage, Subject};

const A: &str = "ahp-chat:/a";
const B: &str = "ahp-chat:/b";

pub fn an_action_comes_back_as_it_went<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    let (one, other) = (title(1, A, "T"), delta(2, A, "p", "\u{0}é😀\n"));
    stage.apply([one.clone(), other.clone()]);
    let log = log_of(&*stage.archive, 0, 9);
    for (op, entry) in [one, other].iter().zip(log) {
        let StoreOp::Append(sequenced) = op else {
            panic!("an append was meant")
        };
        assert_eq!(entry.after(Seq::ZERO).unwrap(), **sequenced);
    }
}

pub fn a_range_has_every_entry_that_touches_it<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([
        delta(1, A, "p", "a"),
        title(2, B, "T2"),
        title(3, B, "T3"),
        delta(4, A, "p", "b"),
        title(5, B, "T5"),
    ]);
    let read = |after, up_to| {
        let log = log_of(&*stage.archive, after, up_to);
        assert!(log.is_sorted_by_key(|entry| entry.last));
        assert!(
            log.iter()
                .all(|it| it.last > after.into() && it.first <= up_to.into())
        );
        (told(&log, A, after), told(&log, B, after))
    };
    assert_eq!(read(0, 9).1, ["T2", "T3", "T5"]);
    assert_eq!(read(0, 9).0.concat().matches(['a', 'b']).count(), 2);
    assert_eq!(read(2, 4), (vec!["p: b".to_owned()], vec!["T3".to_owned()]));
    assert_eq!(read(4, 4), (vec![], vec![]));
    assert!(log_of(&*stage.archive, 9, 3).is_empty());
}

pub fn trimming_forgets_what_lies_below_and_says_so<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([
        delta(1, A, "p", "a"),
        title(2, B, "T"),
        delta(3, A, "p", "b"),
        delta(4, A, "q", "c"),
        trim(3),
    ]);
    let log = log_of(&*stage.archive, 0, 9);
    assert_eq!(told(&log, B, 0), Vec::<String>::new());
    assert_eq!(told(&log, A, 2), ["p: b", "q: c"]);
    assert_eq!(stage.restart().boot.log_start, 3.into(), "2 is gone");
}

pub fn a_batch_that_cannot_be_stored_leaves_no_trace<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([title(1, A, "T")]);
    let good = batch([title(2, A, "U"), put_session("s:/1", "S", 1)]);
    let repeated_number = batch([title(1, A, "V")]);
    let both = [good.clone(), repeated_number];
    let fault = stage.store.apply(&both).unwrap_err();
    assert!(!fault.to_string().is_empty());
    let read = |stage: &Stage<S>| told(&log_of(&*stage.archive, 0, 9), A, 0);
    assert_eq!(read(&stage), ["T"]);
    assert!(stage.archive.catalogue().unwrap().is_empty());
    stage.apply_all(&[good]);
    assert_eq!(read(&stage), ["T", "U"]);
    let boot = stage.restart().boot;
    assert_eq!((boot.next_seq.get(), boot.catalogue.len()), (3, 1));
}

/// An error here would hold up everything that waits behind it.
pub fn what_makes_no_sense_changes_nothing<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    let chat = || "c:/nobody".into();
    let (from, with) = ("s:/nobody".into(), "s:/1".into());
    stage.apply([
        put_session("s:/1", "S", 1),
        turn("c:/nobody", 0, "t"),
        StoreOp::TruncateTurns {
            chat: chat(),
            keep: 0,
        },
        StoreOp::DeleteChat { chat: chat() },
        dispose("s:/nobody", 5),
        StoreOp::ShareContent { from, with },
        trim(u64::MAX),
    ]);
    stage.apply([]);
    assert_eq!(stage.load("s:/1").unwrap().session, session("s:/1", "S", 1));
    assert!(stage.load("s:/nobody").is_none());
    assert!(stage.archive.disposed().unwrap().is_empty());
}
