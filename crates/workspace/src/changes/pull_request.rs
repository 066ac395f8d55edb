//! Asking for a branch to be merged: by `gh` where the remote is GitHub and the
//! user has that program, otherwise by the page where a person does it.

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::workspace::changes::{NoPullRequest, Sent};
use url::Url;

use super::git::{Git, GitError, GitResult, LIMIT_OF_PUSH, Stop, run_aloud};
use super::push::told;

/// The longest title, in bytes, as GitHub has it.
const MOST_TITLE: usize = 250;

/// A longer address is not taken for that of a page.
const LONGEST_URL: usize = 2048;

/// Where a remote is on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Forge {
    host: String,
    /// `OWNER/NAME`
    path: String,
}

/// What is to be merged into what.
pub(super) struct Wanted<'a> {
    pub(super) branch: &'a str,
    pub(super) base: Option<&'a str>,
    pub(super) message: &'a str,
}

impl Forge {
    /// Of the address of a remote: `https://HOST/PATH`, `ssh://HOST/PATH` or
    /// `USER@HOST:PATH`.
    pub(super) fn of(address: &str) -> Option<Self> {
        let (host, path) = match Url::parse(address) {
            Ok(url) if matches!(url.scheme(), "https" | "http" | "ssh") => {
                (url.host_str()?.to_owned(), url.path().to_owned())
            }
            _ => {
                let (host, path) = address.split_once(':')?;
                let host = host.rsplit('@').next()?;
                (host.to_owned(), path.to_owned())
            }
        };
        let path = path.trim_matches('/').trim_end_matches(".git");
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_./~".contains(letter);
        let is_host = host.contains('.') && host.chars().all(letter) && !host.contains('/');
        let is_path = path.contains('/') && path.chars().all(letter) && !path.starts_with('-');
        (is_host && is_path).then(|| Self {
            host: host.to_lowercase(),
            path: path.to_owned(),
        })
    }

    fn is(&self, kind: &str) -> bool {
        let first = self.host.split('.').next();
        first == Some(kind)
    }

    /// A page of this forge that the remote names when something is pushed.
    pub(super) fn page_in(&self, said: &str) -> Option<String> {
        let lines = said.lines().filter_map(|line| line.strip_prefix("remote:"));
        let mut words = lines.flat_map(str::split_whitespace);
        words.find_map(|word| {
            let url = Url::parse(word)
                .ok()
                .filter(|url| url.scheme() == "https")?;
            (url.host_str() == Some(self.host.as_str())).then(|| url.to_string())
        })
    }

    /// The page where a person asks for a branch to be merged.
    pub(super) fn page_for(&self, wanted: &Wanted<'_>) -> Option<String> {
        let Self { host, path } = self;
        let mut page = Url::parse(&format!("https://{host}/")).ok()?;
        let between = match wanted.base {
            Some(base) => format!("{path}/compare/{base}...{}", wanted.branch),
            None => format!("{path}/compare/{}", wanted.branch),
        };
        if self.is("github") {
            page.set_path(&between);
            page.set_query(Some("expand=1"));
        } else if self.is("gitlab") {
            page.set_path(&format!("{path}/-/merge_requests/new"));
            let name = "merge_request[source_branch]";
            page.query_pairs_mut().append_pair(name, wanted.branch);
        } else if self.is("bitbucket") {
            page.set_path(&format!("{path}/pull-requests/new"));
            page.query_pairs_mut().append_pair("source", wanted.branch);
        } else if ["codeberg", "gitea", "forgejo"]
            .iter()
            .any(|it| self.is(it))
        {
            page.set_path(&between);
        } else {
            return None;
        }
        Some(page.to_string())
    }
}

/// Asks for a branch that was pushed. `page` is what the remote said.
pub(super) fn create(
    forge: Option<&Forge>,
    wanted: &Wanted<'_>,
    page: Option<String>,
    stop: &Stop,
) -> GitResult<Sent> {
    let asked = match forge {
        Some(forge) if forge.is("github") => ask_gh(forge, wanted, stop)?,
        _ => Err(NoPullRequest::NotGitHub),
    };
    Ok(match asked {
        Ok(done) => done,
        Err(why) => {
            let known = forge.and_then(|forge| forge.page_for(wanted));
            let url = known.or(page);
            Sent::PullRequestPage { url, why }
        }
    })
}

fn ask_gh(
    forge: &Forge,
    wanted: &Wanted<'_>,
    stop: &Stop,
) -> GitResult<Result<Sent, NoPullRequest>> {
    let (title, body) = match wanted.message.split_once('\n') {
        Some((title, body)) => (title.trim(), body.trim()),
        None => (wanted.message.trim(), ""),
    };
    // It runs git where it is: in a directory where there is nothing.
    let nowhere = tempfile::tempdir()?;
    let mut gh = Git::other("gh");
    gh.current_dir(nowhere.path());
    gh.env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    gh.env("GH_NO_UPDATE_NOTIFIER", "1");
    gh.args(["pr", "create", "--repo"]);
    gh.arg(format!("{}/{}", forge.host, forge.path));
    gh.arg(format!("--head={}", wanted.branch));
    gh.args(wanted.base.map(|base| format!("--base={base}")));
    gh.arg(format!("--title={}", cut(title, MOST_TITLE)));
    gh.arg("--body-file=-").limit(LIMIT_OF_PUSH).until(stop);
    let said = match run_aloud(gh, Some(body.as_bytes())) {
        Ok((said, _)) => said,
        Err(GitError::NotRun(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Err(NoPullRequest::GhMissing));
        }
        Err(GitError::Failed(said)) => return Ok(judged(forge, &said)),
        Err(GitError::TookTooLong { .. }) => {
            let why = "it did not end".to_owned();
            return Ok(Err(NoPullRequest::GhFailed(why)));
        }
        Err(error) => return Err(error),
    };
    let said = String::from_utf8_lossy(&said);
    Ok(match url_in(forge, &said) {
        Some(url) => Ok(Sent::PullRequest { url, is_new: true }),
        None => Err(NoPullRequest::GhFailed("it names no address".to_owned())),
    })
}

fn judged(forge: &Forge, said: &str) -> Result<Sent, NoPullRequest> {
    let signed_out = ["gh auth login", "HTTP 401", "GH_TOKEN"];
    match url_in(forge, said).filter(|_| said.contains("already exists")) {
        Some(url) => Ok(Sent::PullRequest { url, is_new: false }),
        None if signed_out.iter().any(|words| said.contains(words)) => {
            Err(NoPullRequest::GhNotSignedIn)
        }
        None => {
            let mut lines = said.lines().map(told);
            let line = lines.find(|line| !line.is_empty());
            let line = line.unwrap_or_else(|| "it failed without a message".to_owned());
            Err(NoPullRequest::GhFailed(line))
        }
    }
}

fn url_in(forge: &Forge, said: &str) -> Option<String> {
    let begin = format!("https://{}/", forge.host);
    let mut words = said.split_whitespace();
    let word = words.find(|it| it.starts_with(&begin) && it.len() <= LONGEST_URL)?;
    let url = Url::parse(word).ok()?;
    (url.host_str() == Some(forge.host.as_str())).then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_a_pull_request_is_known_of_the_forges_in_use() {
        for (address, expected) in [
            (
                "https://github.com/o/r.git",
                Some("https://github.com/o/r/compare/main...a/b%20c?expand=1"),
            ),
            (
                "git@github.com:o/r.git",
                Some("https://github.com/o/r/compare/main...a/b%20c?expand=1"),
            ),
            (
                "ssh://git@gitlab.example.org:22/g/o/r",
                Some(
                    "https://gitlab.example.org/g/o/r/-/merge_requests/new?\
                     merge_request%5Bsource_branch%5D=a%2Fb+c",
                ),
            ),
            (
                "https://bitbucket.org/o/r",
                Some("https://bitbucket.org/o/r/pull-requests/new?source=a%2Fb+c"),
            ),
            (
                "https://codeberg.org/o/r",
                Some("https://codeberg.org/o/r/compare/main...a/b%20c"),
            ),
            ("https://example.org/o/r", None),
            ("/srv/o/r.git", None),
            ("https://github.com/--repo/x;y", None),
        ] {
            let wanted = Wanted {
                branch: "a/b c",
                base: Some("main"),
                message: "",
            };
            let page = Forge::of(address).and_then(|forge| forge.page_for(&wanted));
            assert_eq!(page.as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn what_gh_says_is_one_line_that_a_terminal_does_not_obey() {
        let forge = Forge::of("https://github.com/o/r").unwrap();
        let said = format!("\n\u{1b}[31mno\u{7}\u{9b}2J {}\nmore", "x".repeat(100_000));
        let Err(NoPullRequest::GhFailed(line)) = judged(&forge, &said) else {
            panic!("it failed");
        };
        assert!(line.starts_with("[31mno2J xxx"), "{line}");
        assert!(line.len() <= 1000 && !line.contains(char::is_control));
    }

    #[test]
    fn only_an_address_that_can_be_opened_is_taken_from_gh() {
        let forge = Forge::of("https://github.com/o/r").unwrap();
        let long = format!("https://github.com/{}", "x".repeat(100_000));
        for (said, expected) in [
            (
                "see https://github.com/o/r/pull/1 .",
                Some("https://github.com/o/r/pull/1"),
            ),
            (
                "https://github.com/\u{1b}]8;;x",
                Some("https://github.com/%1B]8;;x"),
            ),
            ("https://github.com.evil.example/o/r/pull/1", None),
            ("https://evil.example/github.com/", None),
            ("http://github.com/o/r/pull/1", None),
            (&long, None),
        ] {
            assert_eq!(url_in(&forge, said).as_deref(), expected, "{said}");
        }
    }

    #[test]
    fn only_a_page_of_the_remotes_own_host_is_passed_on() {
        let forge = Forge::of("https://git.example.org/o/r").unwrap();
        let said = "remote: visit https://evil.example/x or\n\
            remote:   https://git.example.org/o/r/pulls/new/t \nTo https://git.example.org/o/r";
        let page = forge.page_in(said);
        assert_eq!(
            page.as_deref(),
            Some("https://git.example.org/o/r/pulls/new/t")
        );
        assert_eq!(forge.page_in("remote: nothing"), None);
    }
}
