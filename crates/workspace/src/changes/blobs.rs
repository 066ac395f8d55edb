//! Content that git keeps, by a process that is asked again and again.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::git::{GitError, GitResult, Repository};

/// `git cat-file`, waiting for questions. It ends when its input does: with
/// this, or with the host.
#[derive(Debug)]
pub(super) struct Blobs {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Blobs {
    pub(super) fn new(repository: &Repository) -> GitResult<Self> {
        let mut git = repository.reading();
        git.args(["cat-file", "--batch-command"]);
        git.stdin(Stdio::piped()).stdout(Stdio::piped());
        git.stderr(Stdio::null());
        let mut child = git.spawn().map_err(GitError::NotRun)?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::NotUnderstood("cat-file"));
        };
        Ok(Self {
            child,
            questions,
            answers: BufReader::new(answers),
        })
    }

    /// How large it is, if it is content.
    pub(super) fn size(&mut self, id: &str) -> GitResult<Option<u64>> {
        writeln!(self.questions, "info {id}")?;
        self.answer()
    }

    pub(super) fn read(&mut self, id: &str) -> GitResult<Option<Vec<u8>>> {
        writeln!(self.questions, "contents {id}")?;
        let Some(size) = self.answer()? else {
            return Ok(None);
        };
        let mut data = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        self.answers.read_exact(&mut data)?;
        // It ends with a line break that is not part of it.
        self.answers.read_exact(&mut [0])?;
        Ok(Some(data))
    }

    /// `ID blob SIZE`, or `ID missing`.
    fn answer(&mut self) -> GitResult<Option<u64>> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(GitError::NotUnderstood("cat-file"));
        }
        let size = line.split_whitespace().nth(2);
        match size.map(str::parse) {
            Some(Ok(size)) => Ok(Some(size)),
            Some(Err(_)) => Err(GitError::NotUnderstood("cat-file")),
            None => Ok(None),
        }
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
