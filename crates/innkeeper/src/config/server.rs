//! `[server]` and `[log]`: where clients reach the host and who may, and what
//! the host writes down.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use tracing::level_filters::LevelFilter;

use super::{DAY, DEFAULT_PORT, MIB, size, within};
use crate::cli::{LogDefaults, LogFormat};

/// `[server]`: where clients reach the host, and who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ServerTable {
    #[serde(deserialize_with = "address")]
    pub(crate) host: IpAddr,
    pub(crate) port: u16,
    pub(crate) allowed_hosts: Vec<String>,
    #[serde(deserialize_with = "origins")]
    pub(crate) allowed_origins: Vec<String>,
    #[serde(deserialize_with = "within::<_, 1024, { 1024 * MIB }>")]
    pub(crate) message_bytes: u64,
    #[serde(deserialize_with = "within::<_, 1, DAY>")]
    pub(crate) ping_seconds: u64,
    pub(crate) compression: bool,
    pub(crate) web: bool,
    #[serde(deserialize_with = "absolute_path")]
    pub(crate) socket: PathBuf,
    #[serde(deserialize_with = "absolute_path")]
    pub(crate) connection_token_file: PathBuf,
    pub(crate) without_connection_token: bool,
    #[serde(deserialize_with = "absolute_path")]
    pub(crate) ready_file: PathBuf,
    #[serde(deserialize_with = "absolute_path")]
    pub(crate) tls_cert: PathBuf,
    #[serde(deserialize_with = "absolute_path")]
    pub(crate) tls_key: PathBuf,
    #[serde(deserialize_with = "within::<_, 0, DAY>")]
    pub(crate) linger_seconds: u64,
}

/// `[log]`: what the host writes down about its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LogTable {
    #[serde(deserialize_with = "log_level")]
    pub(crate) level: String,
    pub(crate) format: LogFormat,
}

impl Default for LogTable {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: LogFormat::default(),
        }
    }
}

impl LogTable {
    pub(crate) fn defaults(&self) -> LogDefaults {
        LogDefaults {
            level: self.level.parse().unwrap_or(LevelFilter::INFO),
            format: self.format,
        }
    }
}

fn log_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let level = String::deserialize(deserializer)?;
    match level.parse::<LevelFilter>() {
        Ok(_) => Ok(level),
        Err(_) => Err(serde::de::Error::custom(format!(
            "`{level}` is not a level; write off, error, warn, info, debug or trace"
        ))),
    }
}

impl Default for ServerTable {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: DEFAULT_PORT,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            message_bytes: 16 * MIB,
            ping_seconds: 30,
            compression: false,
            web: true,
            socket: PathBuf::new(),
            connection_token_file: PathBuf::new(),
            without_connection_token: false,
            ready_file: PathBuf::new(),
            tls_cert: PathBuf::new(),
            tls_key: PathBuf::new(),
            linger_seconds: 60,
        }
    }
}

impl ServerTable {
    pub(crate) fn linger(&self) -> Duration {
        Duration::from_secs(self.linger_seconds)
    }

    pub(crate) fn message_bytes(&self) -> usize {
        size(self.message_bytes)
    }

    pub(crate) fn ping_after(&self) -> Duration {
        Duration::from_secs(self.ping_seconds)
    }
}

/// An address to listen on. Names are not looked up, but for the one that
/// means this machine.
pub(crate) fn parse_address(text: &str) -> Result<IpAddr, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    bare.unwrap_or(text).parse().map_err(|_| {
        format!("`{text}` is not an address; give an IP address such as 127.0.0.1, or `localhost`")
    })
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_address(&text).map_err(serde::de::Error::custom)
}

/// Origins as browsers write them. They are compared letter by letter, so one
/// that is written otherwise would never fit.
fn origins<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let origins = Vec::<String>::deserialize(deserializer)?;
    let is_origin = |origin: &String| {
        let rest = origin.split_once("://").map(|(_, rest)| rest);
        let is_plain = |c: char| !c.is_ascii_uppercase() && !matches!(c, '/' | '?' | '#' | ' ');
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_plain))
    };
    match origins.iter().find(|origin| !is_origin(origin)) {
        None => Ok(origins),
        Some(origin) => Err(serde::de::Error::custom(format!(
            "`{origin}` is not an origin; write it as browsers do, such as https://inn.example, \
             without a path"
        ))),
    }
}

/// Nothing, or a path that does not depend on where the host is started.
fn absolute_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let path = PathBuf::deserialize(deserializer)?;
    match path.as_os_str().is_empty() || path.is_absolute() {
        true => Ok(path),
        false => Err(serde::de::Error::custom(format!(
            "`{}` is not an absolute path; write it from `/` on",
            path.display()
        ))),
    }
}
