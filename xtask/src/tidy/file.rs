//! What must hold for a single file.

/// From here on a file is worth a look.
const LONG: usize = 800;
/// Longer than this is more than one idea.
const TOO_LONG: usize = 1000;

/// What may stand in no file. Written in two halves, as this is a file too.
const LEFTOVERS: [&str; 3] = [
    concat!("to", "do!("),
    concat!("FIX", "ME"),
    concat!("db", "g!("),
];

/// Beginnings of paths that belong to somebody's machine.
const PERSONAL: [&str; 2] = [concat!("/ho", "me/"), concat!("/ro", "ot/")];

/// The number of lines of a Rust file that is long, but not yet too long.
pub(super) fn is_long(path: &str, text: &str) -> Option<usize> {
    let lines = text.lines().count();
    (is_rust(path) && lines > LONG && lines <= TOO_LONG).then_some(lines)
}

/// Everything that is wrong with a file, one line each.
pub(super) fn problems(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if is_rust(path) {
        problems.extend(rust_problems(path, text));
    }
    for (index, line) in text.lines().enumerate() {
        let complaints = line_complaints(line);
        problems.extend(complaints.map(|complaint| format!("{path}:{}: {complaint}", index + 1)));
    }
    problems
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

fn rust_problems(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.starts_with("//!") {
        problems.push(format!(
            "{path}:1: opens without `//!`: say what lives here and what it keeps true"
        ));
    }
    let lines = text.lines().count();
    if lines > TOO_LONG {
        problems.push(format!("{path}: {lines} lines; split it by idea"));
    }
    problems
}

fn line_complaints(line: &str) -> impl Iterator<Item = String> {
    let leftovers = LEFTOVERS
        .into_iter()
        .filter(|leftover| line.contains(leftover))
        .map(|leftover| format!("`{leftover}` is left over"));
    let personal = PERSONAL
        .into_iter()
        .filter(|start| has_path(line, start))
        .map(|start| format!("a path below `{start}` belongs to one machine"));
    let trailing = line
        .ends_with(char::is_whitespace)
        .then(|| "trailing white space".to_owned());
    leftovers.chain(personal).chain(trailing)
}

/// Whether an absolute path with this start occurs; a directory of that name
/// deeper in a path is nobody's.
fn has_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-*}".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let problems = problems(path, text);
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_rust_file_opens_with_its_purpose() {
        check("a.rs", "//! Here.\n", &[]);
        check("a.rs", "use x;\n", &["a.rs:1: opens without"]);
        check("a.md", "# Title\n", &[]);
    }

    #[test]
    fn length_is_noticed_and_then_refused() {
        let file = |lines: usize| format!("//! Here.\n{}", "x\n".repeat(lines - 1));
        assert_eq!(is_long("a.rs", &file(800)), None);
        assert_eq!(is_long("a.rs", &file(801)), Some(801));
        check("a.rs", &file(1000), &[]);
        check("a.rs", &file(1001), &["1001 lines; split it"]);
    }

    #[test]
    fn leftovers_are_found() {
        for leftover in LEFTOVERS {
            let text = format!("first\n{leftover}x)\n");
            check("a.md", &text, &["a.md:2: "]);
        }
    }

    #[test]
    fn trailing_white_space_is_found() {
        check(
            "a.toml",
            "a = 1 \nb\t\n",
            &["a.toml:1: trail", "a.toml:2: trail"],
        );
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for start in PERSONAL {
            check(
                "a.md",
                &format!("see {start}me"),
                &["belongs to one machine"],
            );
            check("a.md", &format!("file://{start}me"), &["one machine"]);
            check("a.md", &format!("src{start}mod.rs"), &[]);
        }
    }
}
