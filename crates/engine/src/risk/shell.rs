//! The simple commands in a line for a shell, as far as one can tell without
//! running it: what variables and patterns become is not known.

use innkeeper_protocol::bounds::cut;

/// How much of a line is looked at.
const MOST_BYTES: usize = 64 * 1024;
/// How often a line may be in another one.
const MOST_DEPTH: usize = 3;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The program's name without its path.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

/// Programs that run another one, which is named among their arguments.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "nohup", "time", "nice", "ionice", "command", "exec", "builtin",
    "xargs", "stdbuf", "timeout", "setsid", "then", "do", "else", "!", "{",
];

/// Programs that run a line that follows `-c`.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish", "ash"];

/// All programs that a line runs, in order.
pub(super) fn invocations(line: &str) -> Vec<Invocation> {
    let mut found = Vec::new();
    collect(line, MOST_DEPTH, &mut found);
    found
}

fn collect(line: &str, depth: usize, found: &mut Vec<Invocation>) {
    for words in commands(line) {
        let Some(at) = program_in(&words) else {
            continue;
        };
        let name = words[at].rsplit('/').next().unwrap_or_default();
        let arguments = words[at + 1..].to_vec();
        if SHELLS.contains(&name) && depth > 0 {
            let is_line = |word: &String| word.starts_with('-') && word.ends_with('c');
            let inner = arguments.iter().position(is_line);
            if let Some(inner) = inner.and_then(|at| arguments.get(at + 1)) {
                collect(inner, depth - 1, found);
                continue;
            }
        }
        // `find … -exec PROGRAM …`
        let runs = |word: &String| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word.as_str());
        if let Some(at) = arguments.iter().position(runs)
            && let Some(program) = arguments.get(at + 1)
        {
            found.push(Invocation {
                program: program.rsplit('/').next().unwrap_or_default().to_owned(),
                arguments: arguments[at + 2..].to_vec(),
            });
        }
        found.push(Invocation {
            program: name.to_owned(),
            arguments,
        });
    }
}

/// Where the program stands: behind assignments, and behind programs that run
/// another one and their options.
fn program_in(words: &[String]) -> Option<usize> {
    let mut behind_wrapper = false;
    words.iter().position(|word| {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let name = word.rsplit('/').next().unwrap_or_default();
        if WRAPPERS.contains(&name) {
            behind_wrapper = true;
            return false;
        }
        !is_assignment && !(behind_wrapper && (word.starts_with('-') || is_number))
    })
}

/// The words of each simple command.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = Reader::default();
    let mut rest = cut(line, MOST_BYTES).chars().peekable();
    let mut in_quotes = false;
    // For each command that this one is part of: whether it is in quotes.
    let mut around = Vec::new();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => {
                if let Some(next) = rest.next().filter(|next| *next != '\n') {
                    reader.push(next);
                }
            }
            '\'' if !in_quotes => {
                reader.begin();
                rest.by_ref()
                    .take_while(|next| *next != '\'')
                    .for_each(|next| reader.push(next));
            }
            '"' => {
                in_quotes = !in_quotes;
                reader.begin();
            }
            // What is run for its output is a command of its own, in quotes too.
            '$' if rest.peek() == Some(&'(') => {
                rest.next();
                reader.end_command();
                around.push(std::mem::take(&mut in_quotes));
            }
            ')' if !in_quotes && !around.is_empty() => {
                reader.end_command();
                in_quotes = around.pop().unwrap_or_default();
            }
            '`' => reader.end_command(),
            _ if in_quotes => reader.push(letter),
            ';' | '|' | '&' | '\n' | '(' | ')' => reader.end_command(),
            '<' | '>' => reader.end_word(),
            '#' if reader.word.is_none() => {
                rest.by_ref()
                    .take_while(|next| *next != '\n')
                    .for_each(drop);
                reader.end_command();
            }
            _ if letter.is_whitespace() => reader.end_word(),
            _ => reader.push(letter),
        }
    }
    reader.end_command();
    reader.commands
}

#[derive(Debug, Default)]
struct Reader {
    word: Option<String>,
    words: Vec<String>,
    commands: Vec<Vec<String>>,
}

impl Reader {
    fn begin(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, letter: char) {
        self.begin().push(letter);
    }

    fn end_word(&mut self) {
        self.words
            .extend(self.word.take().filter(|it| !it.is_empty()));
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_wherever_they_stand() {
        for (line, expected) in [
            ("ls -l", vec!["ls -l"]),
            ("a && b; c | d & e\nf", vec!["a", "b", "c", "d", "e", "f"]),
            ("X=1 Y=2 /usr/bin/make all", vec!["make all"]),
            ("sudo -n rm x", vec!["rm x"]),
            ("timeout 5 env A=b curl u", vec!["curl u"]),
            ("echo 'rm x' \"rm y\"", vec!["echo rm x rm y"]),
            ("echo $(rm x)", vec!["echo", "rm x"]),
            ("echo \"$(rm x)\"", vec!["echo", "rm x"]),
            ("echo \"$(ls)\"; rm x", vec!["echo", "ls", "rm x"]),
            ("echo `rm x`", vec!["echo", "rm x"]),
            ("bash -lc 'cd a && rm b'", vec!["cd a", "rm b"]),
            ("sh -c \"sh -c 'rm b'\"", vec!["rm b"]),
            (
                "find . -name x -exec rm {} \\;",
                vec!["rm {} ;", "find . -name x -exec rm {} ;"],
            ),
            ("cat <a >b # rm c", vec!["cat a b"]),
            ("if true; then rm x; fi", vec!["if true", "rm x", "fi"]),
            ("a\\ b 'c", vec!["a b c"]),
            ("", vec![]),
            ("A=b", vec![]),
        ] {
            let found = invocations(line).into_iter().map(|it| {
                let words = [vec![it.program], it.arguments].concat();
                words.join(" ")
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{line}");
        }
    }

    #[test]
    fn a_line_without_end_is_looked_at_in_part() {
        let line = format!("{} ; rm x", "é".repeat(MOST_BYTES));
        assert_eq!(invocations(&line).len(), 1);
        let deep = "sh -c 'x' ".repeat(10_000);
        assert!(!invocations(&deep).is_empty());
    }
}
