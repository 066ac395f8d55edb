//! What calls show of the files that they change: whole files, also where an
//! agent tells only of a piece, or of nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::agent::Approval;
use innkeeper_protocol::newest::state::FileEditSide;

use super::*;

/// A text and what type it is said to have.
type Side = Option<(String, String)>;

fn side(side: Option<&FileEditSide>) -> Side {
    let content = &side?.content;
    let (_, data) = content.uri.split_once(";base64,").unwrap();
    let text = String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
    Some((text, content.content_type.clone().unwrap()))
}

fn whole(text: &str) -> Side {
    Some((text.to_owned(), "text/plain".to_owned()))
}

fn fragment(text: &str) -> Side {
    Some((text.to_owned(), "text/x-fragment".to_owned()))
}

/// The edits that the next event shows which shows any: a request for approval,
/// a call that runs, or one that is over.
async fn next_edits(conversation: &mut Conversation) -> Vec<(Side, Side)> {
    until(conversation, |event| match of_turn(event)? {
        TurnEvent::ToolReady(ready) => match &ready.approval {
            Approval::Needed(request) => {
                let edits = request.edits.iter().flat_map(|edits| &edits.items);
                let edits = edits.map(|it| (side(it.before.as_ref()), side(it.after.as_ref())));
                Some(edits.collect())
            }
            Approval::NotNeeded => None,
        },
        TurnEvent::ToolContent { content, .. } => Some(edits_in(content)),
        TurnEvent::ToolFinished { result, .. } => result.content.as_deref().map(edits_in),
        _ => None,
    })
    .await
}

fn edits_in(content: &[ToolResultContent]) -> Vec<(Side, Side)> {
    let edits = content.iter().filter_map(|block| match block {
        ToolResultContent::FileEdit(edit) => Some(edit),
        _ => None,
    });
    edits
        .map(|it| (side(it.before.as_ref()), side(it.after.as_ref())))
        .collect()
}

fn edit_of(path: &Path, old: &str, new: &str) -> Value {
    let diff = json!([{"type": "diff", "path": path, "oldText": old, "newText": new}]);
    call(json!({"toolCallId": "c", "title": "Edit", "kind": "edit", "content": diff}))
}

fn completed() -> Value {
    call_update(json!({"toolCallId": "c", "status": "completed"}))
}

#[tokio::test]
async fn a_piece_is_shown_as_the_whole_file_from_the_question_to_the_end() {
    let (directory, mut conversation) = in_directory().await;
    let path = directory.path().join("a");
    std::fs::write(&path, "first line\nsecond line\n").unwrap();
    let turn = conversation.prompt(&scenario(json!([
        edit_of(&path, "second line", "last line"),
        permission(json!({"toolCallId": "c"})),
        completed(),
    ])));
    let expected = [(
        whole("first line\nsecond line\n"),
        whole("first line\nlast line\n"),
    )];
    assert_eq!(next_edits(&mut conversation).await, expected);
    // The agent edits the file when it may.
    std::fs::write(&path, "first line\nlast line\n").unwrap();
    conversation.decide(&turn, approve("c", None));
    assert_eq!(next_edits(&mut conversation).await, expected, "it runs");
    assert_eq!(next_edits(&mut conversation).await, expected, "it is over");
}

#[tokio::test]
async fn a_piece_that_nobody_was_asked_about_is_found_in_the_file_that_was_edited() {
    let (directory, mut conversation) = in_directory().await;
    let path = directory.path().join("a");
    std::fs::write(&path, "one two three").unwrap();
    conversation.prompt(&scenario(json!([edit_of(&path, "2", "two"), completed()])));
    let expected = [(whole("one 2 three"), whole("one two three"))];
    assert_eq!(next_edits(&mut conversation).await, expected);
}

#[tokio::test]
async fn a_piece_that_is_not_found_once_is_marked() {
    let (directory, mut conversation) = in_directory().await;
    let path = directory.path().join("a");
    std::fs::write(&path, "x x").unwrap();
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().join("b");
    std::fs::write(&elsewhere, "before x after").unwrap();
    // More than is ever shown.
    let large = directory.path().join("large");
    std::fs::write(&large, format!("x{}", " ".repeat(300_000))).unwrap();
    for path in [path, elsewhere, large, directory.path().join("none")] {
        conversation.prompt(&scenario(json!([edit_of(&path, "y", "x"), completed()])));
        let expected = [(fragment("y"), fragment("x"))];
        let shown = next_edits(&mut conversation).await;
        assert_eq!(shown, expected, "{}", path.display());
        conversation.rest().await;
    }
}

/// Lets the agent write a file through the host.
async fn let_write(conversation: &mut Conversation, turn: &TurnId) {
    let wanted = until_line(conversation, "write: ").await;
    let write = wanted.trim_start_matches("write: ").to_owned();
    conversation.decide(turn, Decision::MayWrite { write });
}

#[tokio::test]
async fn files_that_a_call_writes_through_the_host_are_shown_in_it() {
    let (directory, mut conversation) = in_directory().await;
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    std::fs::write(&old, "1").unwrap();
    let begun = call(json!({"toolCallId": "c", "title": "Write", "status": "in_progress"}));
    let turn = conversation.prompt(&scenario(json!([
        begun,
        about_file("fs/write_text_file", &old, "2"),
        about_file("fs/write_text_file", &new, "n"),
        about_file("fs/write_text_file", &old, "3"),
        completed(),
    ])));
    for _ in 0..3 {
        let_write(&mut conversation, &turn).await;
    }
    let expected = [(whole("1"), whole("3")), (None, whole("n"))];
    assert_eq!(next_edits(&mut conversation).await, expected);
}

#[tokio::test]
async fn a_file_that_a_call_writes_and_tells_of_is_shown_once() {
    let (directory, mut conversation) = in_directory().await;
    let path = directory.path().join("a");
    std::fs::write(&path, "1 2").unwrap();
    let turn = conversation.prompt(&scenario(json!([
        edit_of(&path, "2", "two"),
        about_file("fs/write_text_file", &path, "1 two"),
        completed(),
    ])));
    let_write(&mut conversation, &turn).await;
    let expected = [(whole("1 2"), whole("1 two"))];
    assert_eq!(next_edits(&mut conversation).await, expected);
}
