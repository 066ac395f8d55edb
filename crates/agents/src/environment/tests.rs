//! What passes, what a shell may do, and where `direnv` is asked.

use super::*;

fn variables(entries: &[(&str, &str)]) -> Variables {
    let entry = |&(name, value): &(&str, &str)| (name.into(), value.into());
    entries.iter().map(entry).collect()
}

#[test]
fn the_hosts_own_variables_and_its_secrets_never_pass() {
    let environment = Environment::strict();
    for secret in ["s3cret", ""] {
        environment.keep_secret(secret);
    }
    let given = variables(&[
        ("EDITOR", "vi"),
        ("INNKEEPER_TOKEN", "x"),
        ("LINK", "http://127.0.0.1:8137/?tkn=s3cret"),
        ("SHLVL", "2"),
        ("_", "/usr/bin/env"),
    ]);
    assert_eq!(environment.passing(given), variables(&[("EDITOR", "vi")]));
}

#[test]
fn what_was_switched_on_in_a_terminal_comes_first() {
    let path = |path: &str| variables(&[("PATH", path)]);
    for (taken, own, together) in [
        (
            "/usr/bin:/bin",
            "/venv/bin:/usr/bin",
            "/venv/bin:/usr/bin:/bin",
        ),
        ("/nvm/bin:/usr/bin", "/usr/bin", "/nvm/bin:/usr/bin"),
        ("/usr/bin", "", "/usr/bin"),
    ] {
        let own = variables(&[("PATH", own)][usize::from(own.is_empty())..]);
        assert_eq!(with_path_of(path(taken), &own), path(together), "{own:?}");
    }
}

#[tokio::test]
async fn a_program_gets_what_is_named_for_it_and_its_commands_do_not() {
    let surroundings = Surroundings {
        for_all: variables(&[("PATH", "/bin")]),
        on_request: variables(&[("VENDOR_KEY", "k"), ("OTHER", "o")]),
    };
    assert_eq!(
        surroundings.with(&["VENDOR_*".to_owned()]),
        variables(&[("PATH", "/bin"), ("VENDOR_KEY", "k")])
    );
    let commands: Vec<_> = surroundings.for_commands().collect();
    assert_eq!(commands, [("PATH".to_owned(), "/bin".to_owned())]);
}

/// A program in the place of the one that becomes a login shell and reports.
fn asked(script: &str, patience: std::time::Duration) -> (tempfile::TempDir, LoginShell) {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let reporter = place.path().join("reporter");
    std::fs::write(&reporter, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&reporter, std::fs::Permissions::from_mode(0o700)).unwrap();
    let shell = LoginShell {
        shell: "/bin/sh".into(),
        reporter,
        patience,
    };
    (place, shell)
}

const LONG: std::time::Duration = std::time::Duration::from_secs(3600);

#[tokio::test]
async fn what_a_profile_prints_and_leaves_running_does_no_harm() {
    let (_place, shell) = asked(
        "echo 'Welcome = nobody'; sleep 600 & \
         printf '\\0innkeeper environment\\0A=1\\0B=two\\nlines = 2\\0=no name\\0\\0innkeeper environment\\0'; \
         printf 'more'; wait",
        LONG,
    );
    let taken = shell.take(&variables(&[("PATH", "/usr/bin:/bin")])).await;
    let expected = variables(&[("A", "1"), ("B", "two\nlines = 2")]);
    assert_eq!(taken, Ok(expected));
}

#[tokio::test]
async fn a_shell_that_says_nothing_or_too_much_gives_nothing() {
    let own = variables(&[("PATH", "/usr/bin:/bin")]);
    for script in [
        "exit 3",
        "cat /dev/zero",
        "printf '\\0innkeeper environment\\0A=1\\0'",
    ] {
        let (_place, shell) = asked(script, LONG);
        let trouble = shell.take(&own).await.unwrap_err();
        assert_eq!(trouble, "it ended without telling what it sets", "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shell_that_waits_for_somebody_is_given_up_and_agents_get_the_hosts_environment() {
    let (_place, shell) = asked("sleep 600", std::time::Duration::from_secs(10));
    let environment = Environment::of_user(shell);
    let trouble = environment.trouble().await.unwrap();
    assert_eq!(trouble, "it was not ready within 10 s");
    let own = std::env::var_os("PATH").unwrap_or_default();
    assert_eq!(environment.path().await, own);
}

#[tokio::test]
async fn direnv_is_asked_only_where_there_is_something_to_follow() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let direnv = place.path().join("direnv");
    let script =
        "#!/bin/sh\nprintf '{\"IN\":\"%s\",\"GONE\":null,\"INNKEEPER_X\":\"1\"}' \"$PWD\"\n";
    std::fs::write(&direnv, script).unwrap();
    std::fs::set_permissions(&direnv, std::fs::Permissions::from_mode(0o700)).unwrap();
    let project = place.path().join("project");
    std::fs::create_dir_all(project.join("src")).unwrap();
    let path = format!("{}:/usr/bin:/bin", place.path().display());
    let given = variables(&[("PATH", &path), ("GONE", "here")]);
    let inside = project.join("src");
    assert_eq!(direnv::changes(&given, &inside).await, []);
    std::fs::write(project.join(".envrc"), "").unwrap();
    let here = inside.canonicalize().unwrap().into_os_string();
    let changes = direnv::changes(&given, &inside).await;
    let expected = [
        ("GONE".into(), None),
        ("IN".into(), Some(here)),
        ("INNKEEPER_X".into(), Some("1".into())),
    ];
    assert_eq!(changes, expected);
    let without = variables(&[("PATH", "/nowhere")]);
    assert_eq!(direnv::changes(&without, &inside).await, []);
}
