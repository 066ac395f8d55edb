//! What a row must be like before anything is done with it.

use super::package::{Package, Source, is_version};
use super::{Row, SignIn};

/// The most arguments and variables of a row, and the longest of them.
const MOST: usize = 64;
const LONGEST: usize = 4 * 1024;

/// What is wrong with a row, in words.
pub(super) fn row(row: &Row) -> Result<(), String> {
    let extra = row.extra();
    let ids = extra.other_ids.iter().chain(extra.provider.iter());
    for id in ids.chain([&row.id]) {
        if !is_id(id) {
            return Err("`id` must be of small letters, digits and hyphens".to_owned());
        }
        if id == crate::script::PROVIDER {
            return Err(format!("`{id}` is the host's own agent; choose another id"));
        }
    }
    if !is_label(&row.name) || row.description.len() > LONGEST {
        return Err("`name` and `description` must be short texts".to_owned());
    }
    if !is_version(&row.version) {
        return Err("`version` must be a version, such as 1.2.3".to_owned());
    }
    let launches = [
        (Source::Npm, &row.distribution.npx),
        (Source::PyPi, &row.distribution.uvx),
    ];
    for (source, launch) in launches {
        if let Some(launch) = launch {
            Package::parse(source, &launch.package, &row.version)?;
        }
    }
    let commands = row.commands();
    if commands.is_empty() {
        return Err("`distribution` names no program".to_owned());
    }
    for command in commands.iter().chain(extra.adapts.iter()) {
        let is_name =
            !command.is_empty() && command.len() <= 128 && !command.starts_with(['.', '-']);
        if !is_name || command.contains(['/', '\0']) || !is_label(command) {
            return Err("`commands` must be the names of programs, without directories".to_owned());
        }
    }
    let env = row.env();
    let texts = row.args().iter().chain(env.values()).chain(&extra.pass_env);
    let texts = texts.chain(&extra.reads).chain(&extra.sha256);
    let SignIn { refusals, args } = &extra.sign_in;
    let texts = texts.chain(refusals).chain(args);
    let long = |text: &String| text.len() > LONGEST || text.contains('\0');
    if row.args().len().max(env.len()) > MOST || texts.into_iter().any(long) {
        return Err(format!(
            "at most {MOST} arguments and variables of {LONGEST} bytes are possible"
        ));
    }
    if refusals.iter().any(|said| said.trim().is_empty()) {
        return Err("`refusals` must not hold an empty text, which every error has".to_owned());
    }
    let wrong = |name: &String| name.is_empty() || name.contains(['=', '\0']);
    if env.keys().any(wrong) {
        return Err("`env` has a name that no variable can have".to_owned());
    }
    let hash = |hash: &String| hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit());
    if !extra.sha256.iter().all(hash) {
        return Err("`sha256` must be hashes of 64 hexadecimal digits".to_owned());
    }
    Ok(())
}

fn is_id(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(inner)
}

fn is_label(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= 256 && !text.chars().any(char::is_control)
}

/// A text from a file, fit for a message.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 200;
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(SHOWN).collect()
}
