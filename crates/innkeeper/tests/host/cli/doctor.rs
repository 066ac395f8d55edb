//! What `innkeeper doctor` finds in a data directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::harness::Inn;

/// What it prints, and whether it found a problem.
fn doctor(inn: &Inn) -> (String, bool) {
    let file = inn.write("inn.toml", "[server]\nport = 0\n");
    let ended = inn.call(&["doctor", "--config", file.to_str().unwrap()]);
    let is_problem = ended.code == Some(1);
    assert!(is_problem || ended.code == Some(0), "{ended:?}");
    assert_eq!(ended.out.contains("problem   "), is_problem, "{ended:?}");
    (ended.out, is_problem)
}

fn with_a_session() -> Inn {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    inn.call(&["stop"]).with(0);
    inn
}

#[test]
fn a_sound_database_is_called_sound() {
    let (said, is_problem) = doctor(&with_a_session());
    assert!(!is_problem, "{said}");
    assert!(said.contains("ok        store: 1 session, "), "{said}");
    assert!(said.contains("ok        leftovers: nothing"), "{said}");
}

#[test]
fn a_damaged_database_is_a_problem() {
    let inn = with_a_session();
    let file = inn.data("innkeeper.db");
    let mut bytes = fs::read(&file).unwrap();
    let end = bytes.len().min(22 * 4_096);
    bytes[2 * 4_096..end].fill(0xa5);
    fs::write(file, bytes).unwrap();
    let (said, is_problem) = doctor(&inn);
    assert!(is_problem, "{said}");
    assert!(said.contains("problem   store: ") && said.contains("is damaged"));
    assert!(said.contains("`innkeeper restore`"), "{said}");
}

#[test]
fn what_others_can_use_is_a_problem() {
    let inn = with_a_session();
    let file = inn.data("innkeeper.db");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (said, is_problem) = doctor(&inn);
    assert!(is_problem, "{said}");
    let advice = format!("run: chmod 600 {}", file.display());
    assert!(said.contains(&advice), "{said}");
}

/// Only where the tests are run by somebody who may give files away.
#[test]
fn a_directory_of_another_user_is_a_problem() {
    let inn = Inn::new();
    fs::create_dir(inn.path("data")).unwrap();
    if std::os::unix::fs::chown(inn.path("data"), Some(12_345), None).is_err() {
        return;
    }
    let (said, is_problem) = doctor(&inn);
    assert!(is_problem && said.contains("belongs to another user (12345)"));
    assert!(!said.contains("none yet; the first start creates it\nok        disk"));
}

#[test]
fn what_deleted_sessions_left_is_told() {
    let inn = with_a_session();
    fs::create_dir_all(inn.data("changes/ahp-session_3a_2fgone/_2fw")).unwrap();
    let (said, is_problem) = doctor(&inn);
    assert!(!is_problem, "{said}");
    let told = "warning   leftovers: ";
    assert!(said.contains(told) && said.contains("run: innkeeper gc"));
}

#[test]
fn a_mistake_in_the_list_of_agents_is_a_problem_with_its_entry() {
    let inn = with_a_session();
    let row = r#"{"agents": [{"id": "Wrong", "name": "W", "version": "1.0.0",
        "description": "d", "distribution": {"npx": {"package": "wrong"}}}]}"#;
    let file = inn.write("registry.json", row);
    let (said, is_problem) = doctor(&inn);
    assert!(is_problem, "{said}");
    let named = format!(
        "agents: {}, entry 1 (`Wrong`): `id` must be",
        file.display()
    );
    assert!(said.contains(&named), "{said}");
}
