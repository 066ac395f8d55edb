//! Real processes that refuse to go.

use super::*;

fn shell(script: &str) -> Program {
    Program {
        args: vec!["-c".to_owned(), script.to_owned()],
        ..Program::new("/bin/sh")
    }
}

async fn start(script: &str) -> (ChildProcess, JsonLines) {
    let log = Arc::new(StderrLog::new(None));
    ChildProcess::start(&shell(script), None, &log)
        .await
        .unwrap()
}

async fn number(lines: &mut JsonLines) -> i32 {
    match lines.next().await.unwrap() {
        Line::Json(value) => i32::try_from(value.as_i64().unwrap()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Whether a process is there and not merely waiting to be buried.
fn lives(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_program_that_ignores_the_signal_is_ended_with_its_children() {
    let (process, mut lines) =
        start("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 600' & wait").await;
    let child = number(&mut lines).await;
    assert!(lives(child));
    process.end(Duration::from_millis(1)).await;
    // The group is told before the leader is waited for; its children are
    // buried by whoever inherits them.
    while lives(child) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_dropped_process_takes_its_children_along() {
    let (process, mut lines) = start("sh -c 'echo $$; sleep 600' & wait").await;
    let child = number(&mut lines).await;
    drop(process);
    while lives(child) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_end_of_a_program_is_told_with_its_last_words() {
    let (mut process, mut lines) = start("echo not json; echo out of coffee >&2; exit 3").await;
    assert!(matches!(lines.next().await, Some(Line::Noise(text)) if text == "not json"));
    assert!(lines.next().await.is_none());
    let epitaph = process.epitaph().await;
    assert_eq!(
        epitaph.to_string(),
        "it ended with status 3; it last said: out of coffee / not json"
    );
}

#[tokio::test]
async fn a_farewell_on_the_output_is_quoted_within_bounds() {
    let (mut process, mut lines) = start(
        "for i in 1 2 3 4; do echo \"good bye $i\"; done; yes | head -c 100000 | tr -d '\\n'",
    )
    .await;
    while lines.next().await.is_some() {}
    let said = process.epitaph().await.last_words.unwrap();
    assert!(said.starts_with("good bye 3 / good bye 4 / yyy"), "{said}");
    assert!(said.len() < 1_000, "{}", said.len());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let log = Arc::new(StderrLog::new(None));
    let program = Program::new("/nowhere/agent");
    let error = ChildProcess::start(&program, None, &log).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`/nowhere/agent` cannot be started: ")
    );
}

/// They share a log, as all processes of an agent do.
#[tokio::test]
async fn a_process_is_quoted_with_its_own_last_words_only() {
    let log = Arc::new(StderrLog::new(None));
    let start = async |words: &str| {
        let program = shell(&format!("echo {words} >&2; echo 1; read wait"));
        ChildProcess::start(&program, None, &log).await.unwrap()
    };
    let (mut first, mut first_lines) = start("my secret").await;
    let (mut second, mut second_lines) = start("out of coffee").await;
    for lines in [&mut first_lines, &mut second_lines] {
        number(lines).await;
    }
    drop((first_lines, second_lines));
    for (process, words) in [(&mut first, "my secret"), (&mut second, "out of coffee")] {
        let said = process.epitaph().await.last_words;
        assert_eq!(said.as_deref(), Some(words));
    }
}
