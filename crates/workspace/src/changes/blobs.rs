//! Content that git keeps, by a process that is asked again and again.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use innkeeper_process::Group;

use super::git::{GitError, GitResult, LIMIT, Repository, alongside};

/// `git cat-file`, waiting for questions. It ends with this, or with the host.
#[derive(Debug)]
pub(super) struct Blobs {
    child: Child,
    group: Option<Group>,
    questions: Sender<Question>,
    answers: Receiver<GitResult<Answer>>,
}

#[derive(Debug)]
enum Question {
    Size(String),
    Content(String),
}

#[derive(Debug)]
enum Answer {
    Missing,
    Size(u64),
    Content(Vec<u8>),
}

impl Blobs {
    pub(super) fn new(repository: &Repository) -> GitResult<Self> {
        let mut git = repository.reading();
        git.args(["cat-file", "--batch-command"]);
        let (mut child, group) = git.start(Stdio::piped(), Stdio::null())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::NotUnderstood("cat-file"));
        };
        let (questions, asked) = channel();
        let (answer, answers) = channel();
        let mut talk = Talk {
            input,
            output: BufReader::new(output),
        };
        // Beside the worker, who does not wait for ever.
        alongside(move || {
            for question in asked {
                if answer.send(talk.ask(&question)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            child,
            group: Some(group),
            questions,
            answers,
        })
    }

    /// How large it is, if it is content.
    pub(super) fn size(&mut self, id: &str) -> GitResult<Option<u64>> {
        match self.ask(Question::Size(id.to_owned()))? {
            Answer::Size(size) => Ok(Some(size)),
            Answer::Missing | Answer::Content(_) => Ok(None),
        }
    }

    pub(super) fn read(&mut self, id: &str) -> GitResult<Option<Vec<u8>>> {
        match self.ask(Question::Content(id.to_owned()))? {
            Answer::Content(data) => Ok(Some(data)),
            Answer::Missing | Answer::Size(_) => Ok(None),
        }
    }

    fn ask(&mut self, question: Question) -> GitResult<Answer> {
        let gone = || GitError::NotUnderstood("cat-file");
        self.questions.send(question).map_err(|_| gone())?;
        match self.answers.recv_timeout(LIMIT) {
            Ok(answer) => answer,
            Err(_) if self.group.take().is_some() => {
                let task = "cat-file".to_owned();
                Err(GitError::TookTooLong { task, limit: LIMIT })
            }
            Err(_) => Err(gone()),
        }
    }
}

/// The two ends of the process.
struct Talk {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Talk {
    fn ask(&mut self, question: &Question) -> GitResult<Answer> {
        let (Question::Size(id) | Question::Content(id)) = question;
        // It reads lines, and an id is one word.
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(Answer::Missing);
        }
        let command = match question {
            Question::Size(_) => "info",
            Question::Content(_) => "contents",
        };
        writeln!(self.input, "{command} {id}")?;
        let Some(size) = self.header()? else {
            return Ok(Answer::Missing);
        };
        if let Question::Size(_) = question {
            return Ok(Answer::Size(size));
        }
        let mut data = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        self.output.read_exact(&mut data)?;
        // It ends with a line break that is not part of it.
        self.output.read_exact(&mut [0])?;
        Ok(Answer::Content(data))
    }

    fn header(&mut self) -> GitResult<Option<u64>> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(GitError::NotUnderstood("cat-file"));
        }
        size_in(&line)
    }
}

/// What an answer begins with: `ID blob SIZE`, or `ID missing`.
pub(super) fn size_in(line: &str) -> GitResult<Option<u64>> {
    match line.split_whitespace().nth(2).map(str::parse) {
        Some(Ok(size)) => Ok(Some(size)),
        Some(Err(_)) => Err(GitError::NotUnderstood("cat-file")),
        None => Ok(None),
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        drop(self.group.take());
        let _ = self.child.wait();
    }
}
