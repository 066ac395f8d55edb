//! Where the database is, and how one gets in: the address, and what the
//! environment and the password file add to it, as with every other program
//! that talks to PostgreSQL.
//!
//! *Invariant*: nothing that is printed here holds a password.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, TargetSessionAttrs};

use super::error::PostgresError;
use super::tls::Tls;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// The schema that everything is in, unless the address names another.
const SCHEMA: &str = "innkeeper";

/// Where a store in PostgreSQL is.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) schema: String,
    /// For people: without the password.
    pub(super) place: String,
    password: Option<String>,
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({})", self.place)
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl PostgresAddress {
    /// Reads an address of the form `postgres://user@host:port/database`. Of
    /// its parameters, `schema` is ours; `sslmode` and `sslrootcert` mean what
    /// they do elsewhere, except that a certificate is always checked.
    /// `environment` says what a variable holds.
    pub fn parse(
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PostgresError> {
        let wrong = |why: &str| PostgresError::Address(why.to_owned());
        // An address of several hosts is none that `Url` knows.
        let (before, query) = text.split_once('?').unwrap_or((text, ""));
        if !is_postgres(text) {
            return Err(wrong("it does not begin with postgres://"));
        }
        // Else a part of the password would be taken for the name of a machine,
        // which is shown.
        if before.matches('@').count() > 1 {
            return Err(wrong(
                "it has more than one @; write those of a password as %40, or put the password \
                 elsewhere",
            ));
        }
        let mut own = BTreeMap::new();
        let mut passed_on = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "schema" | "sslmode" | "sslrootcert" => {
                    own.insert(name.into_owned(), value.into_owned());
                }
                // The host's own, which the store depends on.
                "options" | "target_session_attrs" => {
                    return Err(PostgresError::Address(format!(
                        "the parameter {name} cannot be used here"
                    )));
                }
                _ => {
                    passed_on.append_pair(&name, &value);
                }
            }
        }
        let rest = passed_on.finish();
        let plain = match rest.as_str() {
            "" => before.to_owned(),
            rest => format!("{before}?{rest}"),
        };
        // What the driver says of an address may quote it.
        let mut config: Config = plain
            .parse()
            .map_err(|_| wrong("the driver cannot read it; check its parts and parameters"))?;
        let schema = own.remove("schema").unwrap_or_else(|| SCHEMA.to_owned());
        let plain_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if schema.is_empty() || schema.len() > 48 || !schema.chars().all(plain_name) {
            return Err(wrong(
                "a schema is named by at most 48 small letters, digits and underscores",
            ));
        }
        fill_in(&mut config, &environment);
        let mode = own.remove("sslmode").or_else(|| environment("PGSSLMODE"));
        config.ssl_mode(ssl_mode(mode.as_deref(), &config)?);
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name("innkeeper");
        config.keepalives_idle(Duration::from_secs(10));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        let roots = own.remove("sslrootcert");
        let roots = roots
            .or_else(|| environment("PGSSLROOTCERT"))
            .map(PathBuf::from);
        let binds = config.get_channel_binding() == ChannelBinding::Require;
        let tls = Tls::trusting(roots.as_deref(), binds).map_err(PostgresError::Address)?;
        let password = config.get_password();
        let password = password.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Self {
            place: place_of(&config, &schema),
            config,
            tls,
            schema,
            password,
        })
    }

    /// Each server that is named, by itself and in order: how long one of them
    /// may take is for whoever connects to say.
    pub(super) fn servers(&self) -> Vec<Config> {
        let (all, hosts) = (&self.config, self.config.get_hosts());
        match hosts {
            [] | [_] => vec![all.clone()],
            [..] => (0..hosts.len()).map(|at| server(all, at)).collect(),
        }
    }

    /// The password, wherever it came from: others are not to be given it.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }
}

/// One of several servers, with all that is said of every one of them.
fn server(all: &Config, at: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(at) {
        Some(Host::Tcp(name)) => one.host(name),
        Some(Host::Unix(path)) => one.host_path(path),
        None => &mut one,
    };
    if let Some(address) = all.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    // One port is that of all.
    let ports = all.get_ports();
    if let Some(port) = ports.get(at).or(ports.first()) {
        one.port(*port);
    }
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(name) = all.get_dbname() {
        one.dbname(name);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    if let Some(most) = all.get_connect_timeout() {
        one.connect_timeout(*most);
    }
    if let Some(most) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*most);
    }
    one.keepalives(all.get_keepalives());
    one.keepalives_idle(all.get_keepalives_idle());
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.ssl_mode(all.get_ssl_mode());
    one.ssl_negotiation(all.get_ssl_negotiation());
    one.channel_binding(all.get_channel_binding());
    one.target_session_attrs(all.get_target_session_attrs());
    one
}

/// Whether something is meant to be such an address.
pub fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// Whether an address has a password in it, as one on a command line must not:
/// everybody on the machine can read that.
pub fn has_password(text: &str) -> bool {
    without_password(text) != text
}

/// An address as it can be shown to others: with a mark in place of each
/// password, also where somebody forgot to encode its special characters.
pub fn without_password(text: &str) -> String {
    const MARK: &str = "***";
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let question = rest.find('?').unwrap_or(rest.len());
    let before = rest.get(..question).unwrap_or(rest);
    // A port is a number; what is not is a password with a question mark in it.
    let mut ports = before.split('/').next().unwrap_or_default().split(',');
    let has_ports = ports.all(|one| {
        let port = one.rsplit_once(':').map_or("", |(_, port)| port);
        one.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let searched = match has_ports || before.contains('@') {
        true => before,
        false => rest,
    };
    let (user, after) = match searched.rfind('@') {
        Some(at) => rest.split_at(at),
        None => ("", rest),
    };
    let user = match user.split_once(':') {
        Some((name, _)) => format!("{name}:{MARK}"),
        None => user.to_owned(),
    };
    let (place, query) = match after.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (after, None),
    };
    let query = query.map(|query| {
        let shown = query.split('&').map(|pair| {
            let mut decoded = url::form_urlencoded::parse(pair.as_bytes());
            match decoded.next() {
                Some((name, _)) if name == "password" => format!("password={MARK}"),
                _ => pair.to_owned(),
            }
        });
        format!("?{}", shown.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}{user}{place}{}", query.unwrap_or_default())
}

/// What the address does not say, the environment may.
fn fill_in(config: &mut Config, environment: &impl Fn(&str) -> Option<String>) {
    if config.get_hosts().is_empty() {
        match environment("PGHOST") {
            Some(host) => config.host(host),
            None => config.host("localhost"),
        };
    }
    if config.get_ports().is_empty()
        && let Some(port) = environment("PGPORT").and_then(|port| port.parse().ok())
    {
        config.port(port);
    }
    if config.get_user().is_none()
        && let Some(user) = environment("PGUSER").or_else(|| environment("USER"))
    {
        config.user(user);
    }
    if config.get_dbname().is_none()
        && let Some(name) = environment("PGDATABASE")
    {
        config.dbname(name);
    }
    if config.get_password().is_some() {
        return;
    }
    if let Some(password) = environment("PGPASSWORD").or_else(|| from_file(config, environment)) {
        config.password(password);
    }
}

/// What the password file says, which only its owner may be able to read.
fn from_file(config: &Config, environment: &impl Fn(&str) -> Option<String>) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = environment("PGPASSFILE").map(PathBuf::from);
    let home = || environment("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let file = file.or_else(home)?;
    let mode = std::fs::metadata(&file).ok()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            file = %file.display(),
            "the password file is ignored, as others can read it; chmod it to 600"
        );
        return None;
    }
    let text = std::fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config
        .get_ports()
        .first()
        .copied()
        .unwrap_or(5432)
        .to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [&host, &port, config.get_dbname().unwrap_or(user), user];
    text.lines().find_map(|line| password_in(line, wanted))
}

/// A line is `host:port:database:user:password`; `*` is anything, and a
/// backslash takes what follows as it is.
fn password_in(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => field.extend(characters.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    let fits = |(found, wanted): (&String, &str)| found == "*" || found == wanted;
    (fields.len() == 4 && fields.iter().zip(wanted).all(fits)).then_some(field)
}

/// Over a network it is TLS unless somebody says otherwise.
fn ssl_mode(mode: Option<&str>, config: &Config) -> Result<SslMode, PostgresError> {
    match mode {
        Some("disable") => Ok(SslMode::Disable),
        Some("allow" | "prefer") => Ok(SslMode::Prefer),
        Some("require" | "verify-ca" | "verify-full") => Ok(SslMode::Require),
        Some(_) => Err(PostgresError::Address(
            "sslmode is one of disable, prefer, require, verify-ca and verify-full".to_owned(),
        )),
        None if config.get_hosts().iter().all(is_here) => Ok(SslMode::Disable),
        None => Ok(SslMode::Require),
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
    }
}

fn place_of(config: &Config, schema: &str) -> String {
    let hosts: Vec<String> = (config.get_hosts().iter())
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or("?");
    format!("{database}.{schema} at {}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, environment: &[(&str, &str)]) -> Result<PostgresAddress, PostgresError> {
        let read = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        PostgresAddress::parse(text, read)
    }

    #[test]
    fn what_the_address_does_not_say_the_environment_does() {
        let variables = [
            ("PGUSER", "ann"),
            ("PGPASSWORD", "s3cret"),
            ("PGHOST", "db"),
        ];
        let address = parsed("postgres:///house", &variables).unwrap();
        assert_eq!(address.place, "house.innkeeper at db");
        assert_eq!(address.password(), Some("s3cret"));
        assert_eq!(address.config.get_user(), Some("ann"));
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        let address = parsed("postgres://bob:own@db/house?schema=two", &variables).unwrap();
        assert_eq!(address.place, "house.two at db");
        assert_eq!(address.password(), Some("own"));
    }

    #[test]
    fn no_password_is_shown_whatever_is_wrong() {
        let texts = [
            "postgres://u:hunter2@h/d?sslmode=sometimes",
            "postgres://u:hunter2@h:port/d",
            "postgres://u:hunter2@h/d?schema=No",
            "postgres://u:hunter2@h/d?options=-c",
            "postgres://u:hunter2@h/d?unknown=1",
            "postgres://u:hun@hunter2@h/d",
            "postgres://u:hunter2?@h/d",
            "mysql://u:hunter2@h/d",
        ];
        for text in texts {
            let error = parsed(text, &[]).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        let address = parsed("postgres://u:hunter2@h/d", &[]).unwrap();
        assert!(!format!("{address:?} {address}").contains("hunter2"));
    }

    #[test]
    fn a_password_in_an_address_is_seen_and_not_shown() {
        for (with, shown) in [
            ("postgres://u:p@h/d", "postgres://u:***@h/d"),
            ("postgres://u:p/w@h/d", "postgres://u:***@h/d"),
            ("postgres://u:p@w@h:5432/d", "postgres://u:***@h:5432/d"),
            ("postgres://u:p?w@h/d", "postgres://u:***@h/d"),
            ("postgres://u:p#w@h", "postgres://u:***@h"),
            (
                "postgres://u:p@h/d?sslrootcert=/a@b.pem",
                "postgres://u:***@h/d?sslrootcert=/a@b.pem",
            ),
            ("postgresql://:p@h", "postgresql://:***@h"),
            ("u:p@h/d", "u:***@h/d"),
            (
                "postgres://h/d?sslmode=require&p%61ssword=p",
                "postgres://h/d?sslmode=require&password=***",
            ),
            (
                "postgres://one:1,two:2/d?password=p&user=u",
                "postgres://one:1,two:2/d?password=***&user=u",
            ),
        ] {
            assert!(has_password(with), "{with}");
            assert_eq!(without_password(with), shown);
        }
        for without in [
            "postgres://u@h:5432/d",
            "postgres://u@one:5432,two:5433/d?sslmode=require",
            "postgres://[::1]:5432/d",
            "postgres://[::1]/d",
            "postgres:///d",
            "postgres://h:5432/d?sslrootcert=/a@b.pem",
            "postgres://h/d?x=a:b@c",
        ] {
            assert!(!has_password(without), "{without}");
        }
    }

    #[test]
    fn the_password_file_is_read_as_other_programs_read_it() {
        let wanted = ["db", "5432", "house", "ann"];
        for (line, password) in [
            ("db:5432:house:ann:pw", Some("pw")),
            ("*:*:*:ann:p:w", Some("p:w")),
            (r"db:*:house:ann:p\:\\w", Some(r"p:\w")),
            ("db:5433:house:ann:pw", None),
            ("# db:5432:house:ann:pw", None),
            ("db:5432:house", None),
        ] {
            assert_eq!(password_in(line, wanted).as_deref(), password, "{line}");
        }
    }

    #[test]
    fn without_a_network_nothing_is_encrypted_unless_asked_for() {
        for (text, mode) in [
            ("postgres://localhost/d", SslMode::Disable),
            (
                "postgres://localhost/d?sslmode=verify-full",
                SslMode::Require,
            ),
            ("postgres://db/d?sslmode=prefer", SslMode::Prefer),
            ("postgres://%2Ftmp/d", SslMode::Disable),
            ("postgres://db/d", SslMode::Require),
        ] {
            assert_eq!(
                parsed(text, &[]).unwrap().config.get_ssl_mode(),
                mode,
                "{text}"
            );
        }
    }

    #[test]
    fn each_of_several_servers_is_known_by_itself_with_what_is_said_of_all() {
        let text = "postgres://ann:pw@one:5433,two/house?schema=own&connect_timeout=3";
        for (text, ports) in [
            (text.to_owned(), [Some(5433), Some(5432)]),
            (
                text.replace("one:5433,two", "one,two:5434"),
                [Some(5432), Some(5434)],
            ),
        ] {
            let servers = parsed(&text, &[]).unwrap().servers();
            let found: Vec<_> = servers.iter().map(|one| one.get_hosts().to_vec()).collect();
            let named = ["one", "two"].map(|name| vec![Host::Tcp(name.to_owned())]);
            assert_eq!(found, named);
            for (server, port) in servers.iter().zip(ports) {
                assert_eq!(server.get_ports().first().copied(), port, "{text}");
                let all = parsed(&text, &[]).unwrap().config;
                assert_eq!(server.get_user(), all.get_user());
                assert_eq!(server.get_password(), all.get_password());
                assert_eq!(server.get_dbname(), all.get_dbname());
                assert_eq!(server.get_application_name(), all.get_application_name());
                assert_eq!(server.get_connect_timeout(), all.get_connect_timeout());
                assert_eq!(server.get_ssl_mode(), all.get_ssl_mode());
                assert_eq!(
                    server.get_target_session_attrs(),
                    TargetSessionAttrs::ReadWrite
                );
            }
        }
        assert_eq!(parsed("postgres:///d", &[]).unwrap().servers().len(), 1);
    }
}
