//! Reading the configuration file, and saying what is wrong with it in one
//! line: which file, where in it, and what to write instead.

use std::io;
use std::path::{Path, PathBuf};

use toml::Value;

use super::{AgentTable, Config, McpTable};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("the configuration file {} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: {message}", place(path, *line))]
    Wrong {
        path: PathBuf,
        line: Option<usize>,
        message: String,
    },
    #[error("{}: {}", path.display(), unknown(table.as_deref(), key, nearest.as_deref()))]
    UnknownKey {
        path: PathBuf,
        /// The table that the key stands in; `None` at the top of the file.
        table: Option<String>,
        key: String,
        nearest: Option<String>,
    },
}

fn place(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}, line {line}", path.display()),
        None => path.display().to_string(),
    }
}

fn unknown(table: Option<&str>, key: &str, nearest: Option<&str>) -> String {
    let (what, place) = match table {
        Some(table) => ("key", format!(" in [{table}]")),
        None => ("table or key", String::new()),
    };
    match nearest {
        Some(nearest) => format!("unknown {what} `{key}`{place}; did you mean `{nearest}`?"),
        None => format!("unknown {what} `{key}`{place}; remove it"),
    }
}

/// Reads a file that must be there.
pub(crate) fn load(path: &Path) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(path, &text)
}

/// Reads a file; one that is not there says nothing, which is fine.
pub(crate) fn load_or_default(path: &Path) -> Result<Config, ConfigError> {
    match load(path) {
        Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(Config::default())
        }
        loaded => loaded,
    }
}

fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let wrong = |error: toml::de::Error| ConfigError::Wrong {
        path: path.to_owned(),
        line: error.span().map(|span| line_of(text, span.start)),
        message: one_line(error.message()),
    };
    let deserializer = toml::Deserializer::parse(text).map_err(wrong)?;
    let mut unknown = None;
    let config: Result<Config, _> = serde_ignored::deserialize(deserializer, |place| {
        unknown.get_or_insert_with(|| place.to_string());
    });
    let config = config.map_err(wrong)?;
    if let Some(place) = unknown {
        return Err(unknown_key(path, &place));
    }
    match what_does_not_fit(&config) {
        Some(message) => Err(ConfigError::Wrong {
            path: path.to_owned(),
            line: None,
            message,
        }),
        None => Ok(config),
    }
}

/// What is wrong although every single value is right.
fn what_does_not_fit(config: &Config) -> Option<String> {
    let mut servers = config.mcp.iter();
    let (name, table) =
        servers.find(|(_, table)| table.command.is_empty() == table.url.is_empty())?;
    Some(match table.command.is_empty() {
        true => format!("[mcp.{name}] has neither `command` nor `url`; write one of them"),
        false => format!("[mcp.{name}] has both `command` and `url`; remove one of them"),
    })
}

fn unknown_key(path: &Path, place: &str) -> ConfigError {
    let (table, key) = match place.rsplit_once('.') {
        Some((table, key)) => (Some(table), key),
        None => (None, place),
    };
    ConfigError::UnknownKey {
        path: path.to_owned(),
        table: table.map(str::to_owned),
        key: key.to_owned(),
        nearest: nearest(table, key),
    }
}

/// The known name that `key` is most likely a slip of.
fn nearest(table: Option<&str>, key: &str) -> Option<String> {
    const SIMILAR: f64 = 0.7;
    let known = Value::try_from(Config::default()).ok()?;
    let an_agent = Value::try_from(AgentTable::default()).ok()?;
    let a_server = Value::try_from(McpTable::default()).ok()?;
    let keys = match table {
        Some(table) if table.starts_with("agents.") => an_agent.as_table()?,
        Some(table) if table.starts_with("mcp.") => a_server.as_table()?,
        Some(table) => known.get(table)?.as_table()?,
        None => known.as_table()?,
    };
    keys.keys()
        .map(|name| (strsim::jaro_winkler(name, key), name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name.clone())
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|&&byte| byte == b'\n').count() + 1
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        let error = parse(Path::new("inn.toml"), text).unwrap_err();
        error.to_string()
    }

    #[test]
    fn what_a_file_says_wins_over_the_defaults() {
        let text = "[server]\nport = 1\nhost = \"::1\"\n[store]\nsync = \"full\"\n";
        let config = parse(Path::new("inn.toml"), text).unwrap();
        assert_eq!(config.server.port, 1);
        assert!(config.server.host.is_loopback());
        assert_eq!(config.store.sync, crate::config::SyncSetting::Full);
        assert_eq!(config.limits, Config::default().limits);
        assert_eq!(parse(Path::new("inn.toml"), "").unwrap(), Config::default());
    }

    #[test]
    fn an_unknown_key_is_named_with_its_table_and_the_nearest_known_one() {
        let cases = [
            (
                "[server]\nprot = 1",
                "inn.toml: unknown key `prot` in [server]; did you mean `port`?",
            ),
            (
                "[limits]\nsesions = 1",
                "inn.toml: unknown key `sesions` in [limits]; did you mean `sessions`?",
            ),
            (
                "[store]\nxyzzy = 1",
                "inn.toml: unknown key `xyzzy` in [store]; remove it",
            ),
            (
                "[agents.mine]\ncomand = 'x'",
                "inn.toml: unknown key `comand` in [agents.mine]; did you mean `command`?",
            ),
            (
                "[sever]\nport = 1",
                "inn.toml: unknown table or key `sever`; did you mean `server`?",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(complaint(text), expected);
        }
    }

    #[test]
    fn an_mcp_server_is_a_program_or_an_address_and_not_both() {
        assert_eq!(
            complaint("[mcp.x]\nargs = []"),
            "inn.toml: [mcp.x] has neither `command` nor `url`; write one of them"
        );
        assert_eq!(
            complaint("[mcp.x]\ncommand = 'a'\nurl = 'https://b'"),
            "inn.toml: [mcp.x] has both `command` and `url`; remove one of them"
        );
    }

    #[test]
    fn wrong_types_and_values_out_of_range_are_found_by_line() {
        let cases = [
            ("[server]\n\nport = \"x\"", "inn.toml, line 3: invalid type"),
            ("[server]\nport = 70000", "inn.toml, line 2: invalid value"),
            (
                "[server]\nping_seconds = 0",
                "inn.toml, line 2: 0 is out of range; give a number from 1 to 86400",
            ),
            ("[limits]\nsessions = -1", "inn.toml, line 2: invalid value"),
            (
                "[server]\nhost = \"inn.example\"",
                "inn.toml, line 2: `inn.example` is not an address",
            ),
            (
                "[server]\nallowed_origins = [\"https://a.example:81\", \"inn.example\"]",
                "inn.toml, line 2: `inn.example` is not an origin; write it as browsers do",
            ),
            (
                "[server]\nallowed_origins = [\"https://inn.example/\"]",
                "inn.toml, line 2: `https://inn.example/` is not an origin",
            ),
            (
                "[store]\nsync = \"fast\"",
                "inn.toml, line 2: unknown variant",
            ),
            ("[server\n", "inn.toml, line 1: "),
        ];
        for (text, expected) in cases {
            let complaint = complaint(text);
            assert!(complaint.starts_with(expected), "{complaint}");
            assert!(!complaint.contains('\n'), "{complaint}");
        }
    }

    #[test]
    fn a_missing_file_is_an_error_only_where_it_was_asked_for() {
        let missing = Path::new("/nowhere/inn.toml");
        assert!(load(missing).unwrap_err().to_string().contains("/nowhere"));
        assert_eq!(load_or_default(missing).unwrap(), Config::default());
    }
}
