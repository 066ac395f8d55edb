//! What an agent is told of the user's customizations: those that it does not
//! read by itself, with its first message. Rules that always hold are told as
//! they are, as far as there is room; of the rest it is told where to find it.
//! The text is for a model, and in English.
//!
//! Prompts are the user's to call, and hooks are run by nobody here, so an agent
//! is told of neither.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use innkeeper_protocol::workspace::customization::{CustomizationKind, EnabledFile, Reach};

/// How much text all of it may be, and how much one file.
const MOST_BYTES: usize = 32 * 1024;
const MOST_OF_FILE: usize = 16 * 1024;

/// How many files are named.
const MOST_FILES: usize = 200;

/// What an agent may be told of.
#[derive(Debug, Default)]
pub(super) struct Instructions {
    files: Vec<EnabledFile>,
}

/// What an agent is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) files: usize,
    /// Files whose text did not fit.
    pub(super) left_out: usize,
}

impl Instructions {
    /// Those of these files that an agent does not read by itself.
    pub(super) fn new(files: &[EnabledFile], reach: &Reach) -> Self {
        let told = files.iter().filter(|file| match file.kind {
            CustomizationKind::Agent | CustomizationKind::Rule | CustomizationKind::Skill => {
                !reach.reads(&file.uri)
            }
            CustomizationKind::Prompt | CustomizationKind::Hook => false,
        });
        Self {
            files: told.take(MOST_FILES).cloned().collect(),
        }
    }

    /// All of it, if there is anything. This reads files.
    pub(super) fn told(&self) -> Option<Told> {
        let mut room = MOST_BYTES;
        let (mut told, mut left_out) = (0, 0);
        let mut texts = String::new();
        let mut named = String::new();
        for file in &self.files {
            let is_rule = file.kind == CustomizationKind::Rule;
            // Of what it could not read, it needs the text.
            let wants_text = (is_rule && file.always) || file.text.is_some();
            let text = wants_text.then(|| text_of(file)).flatten();
            let place = place_of(file);
            match text.filter(|text| text.len() <= room) {
                Some(text) => {
                    room -= text.len();
                    let kind = file.kind.name();
                    texts.push_str(&format!("\n# {kind} {} ({place})\n\n{text}\n", file.name));
                }
                None => {
                    left_out += usize::from(wants_text);
                    let line = named_in_a_line(file, &place);
                    if line.len() > room {
                        continue;
                    }
                    room -= line.len();
                    named.push_str(&line);
                }
            }
            told += 1;
        }
        if told == 0 {
            return None;
        }
        let mut text = "The user has these customizations for this conversation. Rules hold for \
                        all that you do in it.\n"
            .to_owned();
        text.push_str(&texts);
        if !named.is_empty() {
            text.push_str("\nRead these files when what they say they are for comes up:\n\n");
            text.push_str(&named);
        }
        Some(Told {
            text,
            files: told,
            left_out,
        })
    }

    /// The agent that a message is for, if it is one of these.
    pub(super) fn agent(&self, uri: &str) -> Option<String> {
        let is_meant =
            |file: &&EnabledFile| file.kind == CustomizationKind::Agent && file.uri == uri;
        let file = self.files.iter().find(is_meant)?;
        let text = text_of(file)?;
        Some(format!(
            "For this message, act as the agent `{}`:\n\n{text}",
            file.name
        ))
    }
}

fn named_in_a_line(file: &EnabledFile, place: &str) -> String {
    let kind = file.kind.name();
    let description = file.description.as_deref().unwrap_or_default();
    let description: String = description.chars().take(300).collect();
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = file.name.chars().take(100).collect();
    match description.is_empty() {
        true => format!("- {kind} {name}: {place}\n"),
        false => format!("- {kind} {name} ({description}): {place}\n"),
    }
}

/// Where it is, as an agent would look for it.
fn place_of(file: &EnabledFile) -> String {
    match path_of(file) {
        Some(path) => path.display().to_string(),
        None => file.uri.clone(),
    }
}

fn path_of(file: &EnabledFile) -> Option<PathBuf> {
    url::Url::parse(&file.uri).ok()?.to_file_path().ok()
}

/// The text of a file, if it is one and not too large.
fn text_of(file: &EnabledFile) -> Option<String> {
    if let Some(text) = &file.text {
        return Some(text.to_string()).filter(|text| text.len() <= MOST_OF_FILE);
    }
    let path = path_of(file)?;
    // Neither a pipe nor a device may hold anybody up.
    if !std::fs::metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(&path).ok()?;
    let limit = MOST_OF_FILE as u64 + 1;
    file.take(limit).read_to_string(&mut text).ok()?;
    (text.len() <= MOST_OF_FILE).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kind: CustomizationKind, uri: &str, always: bool) -> EnabledFile {
        EnabledFile {
            kind,
            name: uri.rsplit('/').next().unwrap_or_default().to_owned(),
            uri: uri.to_owned(),
            description: Some("for this".to_owned()),
            always,
            text: None,
        }
    }

    #[test]
    fn what_an_agent_reads_by_itself_is_not_told() {
        use CustomizationKind::{Hook, Prompt, Rule, Skill};
        let files = [
            file(Rule, "file:///w/CLAUDE.md", true),
            file(Skill, "file:///w/.claude/skills/a/SKILL.md", false),
            file(Skill, "file:///w/.agents/skills/b/SKILL.md", false),
            file(Hook, "file:///w/.cursor/hooks.json", false),
            file(Prompt, "file:///w/.github/prompts/p.md", false),
        ];
        let reach = Reach {
            reads: vec![".claude/".to_owned(), "CLAUDE.md".to_owned()],
            ..Reach::default()
        };
        let told = Instructions::new(&files, &reach).told().unwrap();
        assert_eq!((told.files, told.left_out), (1, 0));
        let text = &told.text;
        assert!(text.contains("/w/.agents/skills/b/SKILL.md"), "{text}");
        assert!(!text.contains(".claude"), "{text}");
        assert!(Instructions::new(&files[..2], &reach).told().is_none());
    }

    #[test]
    fn rules_are_told_as_they_are_and_what_does_not_fit_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let rule = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            let uri = url::Url::from_file_path(&path).unwrap();
            file(CustomizationKind::Rule, uri.as_str(), true)
        };
        let large = "x".repeat(15 * 1024);
        let files = [
            rule("A.md", "Be brief."),
            rule("B.md", &large),
            rule("C.md", &large),
            rule("D.md", &large),
            rule("E.md", &"x".repeat(MOST_OF_FILE + 1)),
        ];
        let told = Instructions::new(&files, &Reach::default()).told().unwrap();
        assert!(told.text.contains("Be brief."));
        assert!(told.text.len() < MOST_BYTES + 1024);
        assert_eq!((told.files, told.left_out), (5, 2));
        assert!(told.text.contains("/E.md\n"), "it is named");
    }

    #[test]
    fn what_only_a_client_has_is_told_with_its_text() {
        let uri = "virtual://c/skills/s/SKILL.md";
        let mut skill = file(CustomizationKind::Skill, uri, false);
        skill.text = Some("Do it so.".into());
        let told = Instructions::new(&[skill], &Reach::default())
            .told()
            .unwrap();
        assert!(told.text.contains("Do it so."), "{}", told.text);
    }
}
