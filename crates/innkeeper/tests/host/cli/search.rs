//! `innkeeper search`, with and without a running host.

use serde_json::Value;

use super::harness::Inn;
use super::sessions::ids;

fn found(inn: &Inn, args: &[&str]) -> Value {
    let args = [&["search", "--json"], args].concat();
    serde_json::from_str(&inn.call(&args).with(0).out).unwrap()
}

fn count(inn: &Inn, args: &[&str]) -> usize {
    found(inn, args)["items"].as_array().unwrap().len()
}

#[test]
fn before_there_is_anything_nothing_is_found() {
    let inn = Inn::new();
    let said = inn.call(&["search", "oak"]).with(0).out;
    assert_eq!(said, "Nothing was found.\n");
    assert!(!inn.path("data").exists(), "nothing was made");
}

#[test]
fn what_was_said_is_found() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "Where is the oak door"])
        .with(0);
    inn.call(&["run", "-a", "script", "Sweep the yard"]).with(0);
    let check = || {
        let said = inn.call(&["search", "oak", "doo"]).with(0).out;
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].contains("Where is the oak door"), "{said}");
        assert!(lines[1].starts_with("    "), "{said}");
        let everything = ["where", "--in", "message"];
        assert_eq!(count(&inn, &everything), 1);
        let item = &found(&inn, &everything)["items"][0];
        assert_eq!(
            (&item["field"], &item["provider"]),
            (&"message".into(), &"script".into())
        );
        for none in [
            &["oak", "yard"][..],
            &["oak", "--in", "tool"],
            &["oak", "--archived"],
            &["oak", "--agent", "other"],
            &["oak", "--before", "2000-01-01"],
            &["oak", "--directory", "/nowhere"],
            &["***"],
        ] {
            assert_eq!(count(&inn, none), 0, "{none:?}");
        }
        assert!(count(&inn, &["the", "--since", "2000-01-01", "--limit", "50"]) >= 2);
        let id = ids(&inn).swap_remove(0);
        assert!(count(&inn, &["the", "--session", &id]) >= 1);
        assert_eq!(count(&inn, &["oak", "--session", &id]), 0);
    };
    check();
    let host = inn.serve(&[]);
    check();
    host.stop();
}

#[test]
fn what_cannot_be_searched_for_is_wrong_usage() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "Something"]).with(0);
    inn.call(&["search"]).with(2);
    inn.call(&["search", ""]).with(2);
    inn.call(&["search", "x", "--limit", "0"]).with(2);
    inn.call(&["search", "x", "--limit", "51"]).with(2);
    inn.call(&["search", "x", "--since", "soon"]).with(2);
    inn.call(&["search", "x", "--in", "nowhere"]).with(2);
    inn.call(&["search", "x", "--cursor", "y"]).with(2);
    inn.call(&["search", "x", "--session", "zzzz"])
        .failed("unknown session");
}
