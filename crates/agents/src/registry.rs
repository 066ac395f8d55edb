//! The agents that the host knows: rows in the format of the registry of the
//! Agent Client Protocol. The host ships a file of them, and the user's own
//! file adds rows or replaces them.
//!
//! What the host needs beyond that format stands in each row's
//! `_meta.innkeeper` ([`Extra`]): readers of the format leave `_meta` alone, so
//! a row is whole in one place, and users can write all of it too.
//!
//! *Boundary*: a row is data. Whether it is there on this machine is for
//! [`crate::discovery`], and getting it for [`crate::install`].

mod checks;
mod package;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::Value;

pub use package::{Package, Source};

/// The rows that the host comes with.
const SHIPPED: &str = include_str!("registry/agents.json");

/// The name of the user's own file, in the directory of the configuration.
pub const FILE: &str = "registry.json";

/// The largest file that is read, and the most rows of it.
const FILE_BYTES: u64 = 4 * 1024 * 1024;
const ROWS: usize = 1_000;

/// All rows, in the order in which agents are listed.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    rows: Vec<Row>,
    /// What is wrong with the user's file, as sentences.
    troubles: Vec<String>,
}

/// An agent that is known.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    pub id: String,
    pub name: String,
    pub version: String,
    pub description: String,
    #[serde(default)]
    pub distribution: Distribution,
    #[serde(default, rename = "_meta")]
    meta: Meta,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Distribution {
    #[serde(default)]
    pub binary: BTreeMap<String, Binary>,
    pub npx: Option<Launch>,
    pub uvx: Option<Launch>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Binary {
    pub cmd: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Launch {
    /// The name of a package, often with a version.
    pub package: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Meta {
    innkeeper: Option<Extra>,
}

/// What the host needs to know of an agent beyond the format.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Extra {
    /// The agent's name in this host, where that is not its id.
    provider: Option<String>,
    /// Ids that other versions of the registry have for it.
    other_ids: Vec<String>,
    /// The programs that it is found by; the first that is there counts.
    commands: Vec<String>,
    /// Its arguments, where no distribution names them.
    args: Vec<String>,
    /// The agent's own program, where `commands` are an adapter to it.
    pub adapts: Option<String>,
    pub protocol: Language,
    /// What it reads from the environment.
    pub pass_env: Vec<String>,
    /// The customizations that it reads by itself: files, and directories with a
    /// slash at the end, of a working directory or of the user's home.
    pub reads: Vec<String>,
    /// Whether it starts the MCP servers that a session is given, as its protocol
    /// obliges it to. `None` stands for yes.
    pub starts_servers: Option<bool>,
    pub sign_in: SignIn,
    /// Whether it does not run before its package's own install script has.
    pub scripts: bool,
    /// What npm says of the package in this version.
    pub integrity: Option<String>,
    /// The files of the PyPI package in this version, by their SHA-256.
    pub sha256: Vec<String>,
}

/// How signing in to an agent differs from what its protocol has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SignIn {
    /// What its errors say when nobody is signed in, if they do not have the
    /// protocol's code for that.
    pub refusals: Vec<String>,
    /// What the program that signs in gets in addition, so that people can be
    /// elsewhere.
    pub args: Vec<String>,
}

impl SignIn {
    const NONE: Self = Self {
        refusals: Vec::new(),
        args: Vec::new(),
    };
}

/// The language that a program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// The Agent Client Protocol.
    #[default]
    Acp,
    /// pi's own.
    Pi,
}

#[derive(Deserialize)]
struct File {
    agents: Vec<Value>,
}

impl Registry {
    /// What the host comes with.
    #[must_use]
    pub fn shipped() -> Self {
        let (rows, troubles) = parse(SHIPPED.as_bytes(), "the list of known agents");
        Self { rows, troubles }
    }

    /// With the user's file on top, if it is there. Whatever is wrong with it is
    /// kept as a trouble, and the rest of it counts.
    #[must_use]
    pub fn with_file(path: &Path) -> Self {
        let mut all = Self::shipped();
        let name = path.display().to_string();
        match read(path) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let (rows, troubles) = parse(&bytes, &name);
                all.troubles.extend(troubles);
                for row in rows {
                    all.put(row);
                }
            }
            Err(why) => all.troubles.push(format!("{name} cannot be read: {why}")),
        }
        all
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// The row that a person means: by its name in this host, or by its id.
    pub fn row(&self, name: &str) -> Option<&Row> {
        let by_provider = self.rows.iter().find(|row| row.provider() == name);
        by_provider.or_else(|| self.rows.iter().find(|row| row.has_id(name)))
    }

    fn put(&mut self, mut row: Row) {
        let named = row.meta.innkeeper.as_ref();
        let named = named.and_then(|extra| extra.provider.clone());
        let same = |known: &&mut Row| {
            known.has_id(&row.id) || known.provider() == named.as_deref().unwrap_or(&row.id)
        };
        let Some(known) = self.rows.iter_mut().find(same) else {
            self.rows.push(row);
            return;
        };
        if row.meta.innkeeper.is_none() {
            // As the registry has it: what only this host knows stays, but for
            // what is about the very package.
            let mut extra = known.extra().clone();
            extra.provider = Some(known.provider().to_owned());
            if row.package() != known.package() {
                extra.integrity = None;
                extra.sha256.clear();
            }
            if !extra.other_ids.contains(&known.id) {
                extra.other_ids.push(known.id.clone());
            }
            row.meta.innkeeper = Some(extra);
        }
        *known = row;
    }
}

impl Row {
    /// Its name in this host.
    pub fn provider(&self) -> &str {
        self.extra().provider.as_deref().unwrap_or(&self.id)
    }

    pub fn extra(&self) -> &Extra {
        static NONE: Extra = Extra::NONE;
        self.meta.innkeeper.as_ref().unwrap_or(&NONE)
    }

    fn has_id(&self, id: &str) -> bool {
        self.id == id || self.extra().other_ids.iter().any(|other| other == id)
    }

    /// The programs that it is found by.
    pub fn commands(&self) -> Vec<String> {
        let extra = self.extra();
        if !extra.commands.is_empty() {
            return extra.commands.clone();
        }
        // As npx and uvx would choose: the program that is called as its package.
        let package = self.package().map(|package| package.program().to_owned());
        let binary = || {
            let binary = self.distribution.binary.values().next()?;
            binary.cmd.rsplit('/').next().map(str::to_owned)
        };
        package.or_else(binary).into_iter().collect()
    }

    pub fn args(&self) -> &[String] {
        match self.launch() {
            Some(launch) => &launch.args,
            None => match self.distribution.binary.values().next() {
                Some(binary) => &binary.args,
                None => &self.extra().args,
            },
        }
    }

    /// What is set for it, whatever the environment says.
    pub fn env(&self) -> BTreeMap<String, String> {
        let binary = || self.distribution.binary.values().next();
        let launch = self.launch().map(|launch| &launch.env);
        let env = launch.or_else(|| binary().map(|binary| &binary.env));
        env.cloned().unwrap_or_default()
    }

    /// The package that it can be installed from.
    pub fn package(&self) -> Option<Package> {
        let Distribution { npx, uvx, .. } = &self.distribution;
        let npm = npx.iter().map(|launch| (Source::Npm, launch));
        let pypi = uvx.iter().map(|launch| (Source::PyPi, launch));
        let (source, launch) = npm.chain(pypi).next()?;
        Package::parse(source, &launch.package, &self.version).ok()
    }

    fn launch(&self) -> Option<&Launch> {
        let Distribution { npx, uvx, .. } = &self.distribution;
        npx.as_ref().or(uvx.as_ref())
    }
}

impl Extra {
    const NONE: Self = Self {
        provider: None,
        other_ids: Vec::new(),
        commands: Vec::new(),
        args: Vec::new(),
        adapts: None,
        protocol: Language::Acp,
        pass_env: Vec::new(),
        reads: Vec::new(),
        starts_servers: None,
        sign_in: SignIn::NONE,
        scripts: false,
        integrity: None,
        sha256: Vec::new(),
    };
}

/// The bytes of a file that may be missing.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    // A pipe would be waited for without end.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut options = std::fs::OpenOptions::new();
    let file = match options.read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    match bytes.len() as u64 > FILE_BYTES {
        true => Err(format!(
            "it is larger than {} MiB",
            FILE_BYTES / 1024 / 1024
        )),
        false => Ok(Some(bytes)),
    }
}

/// The rows of a file, and what is wrong with those that are left out.
fn parse(bytes: &[u8], name: &str) -> (Vec<Row>, Vec<String>) {
    let file: File = match serde_json::from_slice(bytes) {
        Ok(file) => file,
        Err(error) => {
            let why = format!("{name} is not in the format of the ACP registry: {error}");
            return (Vec::new(), vec![why]);
        }
    };
    let (mut rows, mut troubles) = (Vec::<Row>::new(), Vec::new());
    if file.agents.len() > ROWS {
        troubles.push(format!(
            "{name} has more than {ROWS} agents; the first count"
        ));
    }
    for (index, value) in file.agents.into_iter().take(ROWS).enumerate() {
        let id = value.get("id").and_then(Value::as_str);
        let id = id.map(|id| format!(" (`{}`)", checks::shown(id)));
        let entry = format!("entry {}{}", index + 1, id.unwrap_or_default());
        let row: Result<Row, String> = serde_json::from_value(value).map_err(|e| e.to_string());
        let row = row.and_then(|row| checks::row(&row).map(|()| row));
        let twice = |row: &Row| rows.iter().any(|other| other.provider() == row.provider());
        match row {
            Ok(row) if twice(&row) => {
                troubles.push(format!("{name}, {entry}: it is there twice; remove one"));
            }
            Ok(row) => rows.push(row),
            Err(why) => troubles.push(format!("{name}, {entry}: {}", checks::shown(&why))),
        }
    }
    (rows, troubles)
}

#[cfg(test)]
mod tests;
