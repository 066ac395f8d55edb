//! `innkeeper backup` and `innkeeper restore`.

use std::fs;

use super::harness::{Inn, eventually, mode};

fn titles(inn: &Inn) -> Vec<String> {
    let listed = super::sessions::summaries(inn, &[]);
    let titles = listed.iter().map(|it| it["title"].as_str().unwrap());
    titles.map(str::to_owned).collect()
}

#[test]
fn what_a_running_host_has_stored_is_backed_up_and_restored_elsewhere() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    inn.call(&["run", "-a", "script", "Keep me"]).with(0);
    let file = inn.path("inn.db");
    let file = file.to_str().unwrap();
    let said = inn.call(&["backup", file]).with(0).out;
    assert!(said.starts_with("Wrote 1 session ("), "{said}");
    assert_eq!(mode(file.as_ref()), 0o600);
    inn.call(&["backup", file]).failed("exists already");
    host.stop();

    let other = Inn::new();
    let said = other.call(&["restore", file]).with(0).out;
    assert!(said.starts_with("Restored 1 session ("), "{said}");
    assert_eq!(said.lines().count(), 1, "nothing was there: {said}");
    assert_eq!(titles(&other), ["Keep me"]);
    // A host takes it up.
    other.call(&["run", "-a", "script", "Another"]).with(0);
    assert_eq!(titles(&other), ["Another", "Keep me"]);
}

#[test]
fn what_was_there_before_a_restore_can_be_restored() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "one"]).with(0);
    let file = inn.path("inn.db");
    let file = file.to_str().unwrap();
    inn.call(&["backup", file]).with(0);
    inn.call(&["run", "-a", "script", "two"]).with(0);
    let said = inn.call(&["restore", file]).with(0).out;
    assert_eq!(titles(&inn), ["one"]);
    let before = "The previous sessions are in ";
    let line = said.lines().find_map(|line| line.strip_prefix(before));
    let replaced = line.unwrap().strip_suffix('.').unwrap();
    assert_eq!(mode(replaced.as_ref()), 0o600);
    inn.call(&["restore", replaced]).with(0);
    assert_eq!(titles(&inn), ["two", "one"]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let inn = Inn::new();
    let file = inn.path("inn.db");
    let file = file.to_str().unwrap();
    inn.call(&["backup", file]).failed("contains no database");
    assert!(!inn.path("inn.db").exists());
    inn.call(&["restore", file]).failed("cannot be read");
    let words = inn.write("words", "not a database, but words");
    inn.call(&["restore", words.to_str().unwrap()])
        .failed("use one that `innkeeper backup` has made");
    assert!(!inn.data("innkeeper.db").exists());

    let host = inn.serve(&[]);
    inn.call(&["backup", file]).with(0);
    inn.call(&["restore", file])
        .failed("stop it with `innkeeper stop`");
    let nowhere = inn.path("nowhere/inn.db");
    inn.call(&["backup", nowhere.to_str().unwrap()])
        .failed("check its path");
    host.stop();
    assert!(fs::read_dir(inn.path("")).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        !name.to_string_lossy().starts_with(".innkeeper")
    }));
}

#[test]
fn a_write_ahead_log_that_lost_something_is_told_at_the_next_start() {
    let inn = Inn::new();
    let mut host = inn.serve(&[]);
    inn.call(&["run", "-a", "script", "Lose me"]).with(0);
    eventually("it is noted how far the host has come", || {
        let noted = fs::read_to_string(inn.data("innkeeper.last")).ok()?;
        (noted.starts_with("life 1 ") && !noted.contains(" last 0 ")).then_some(())
    });
    host.running.signal("KILL");
    host.running.wait();
    fs::write(inn.data("innkeeper.db-wal"), "").unwrap();
    for says in [true, false] {
        let said = inn.call(&["serve", "--stdio"]).with(0).err;
        let told = said.contains("ERROR") && said.contains("had been stored");
        assert_eq!(told, says, "only once: {said}");
    }
}
