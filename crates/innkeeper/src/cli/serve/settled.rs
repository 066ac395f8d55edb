//! What a host is started with: a flag wins over its variable, and that over
//! the key of the configuration.
//!
//! The command line's parser could read the variables, too. But to it they are
//! flags, which then do not fit together with those that somebody gave.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::ServeArgs;
use crate::config::{Config, parse_address};

impl ServeArgs {
    pub(super) fn settled(
        mut self,
        config: &Config,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let variables = Variables(variable);
        if self.agents.is_none() {
            let named = variables.text("INNKEEPER_AGENTS")?;
            let named = named.map(|list| list.split(',').map(str::to_owned).collect());
            let only = || Some(config.only_agents.clone()).filter(|only| !only.is_empty());
            self.agents = named.or_else(only);
        }
        // Those two are for a single client, and for the user's commands alone,
        // whatever is set for others.
        if self.stdio || self.temporary {
            return Ok(self);
        }
        let keys = &config.server;
        let key = |key: &PathBuf| Some(key.clone()).filter(|key| !key.as_os_str().is_empty());
        if self.host.is_none() {
            self.host = variables.host()?;
        }
        if self.port.is_none() {
            self.port = variables.port()?;
        }
        self.settle_token(config, &variables)?;
        let path = |flag: &mut Option<PathBuf>, name: &str, other: &PathBuf| {
            let found = flag.take().or_else(|| variables.path(name));
            *flag = found.or_else(|| key(other));
        };
        path(&mut self.socket, "INNKEEPER_SOCKET", &keys.socket);
        path(
            &mut self.ready_file,
            "INNKEEPER_READY_FILE",
            &keys.ready_file,
        );
        path(&mut self.tls_cert, "INNKEEPER_TLS_CERT", &keys.tls_cert);
        path(&mut self.tls_key, "INNKEEPER_TLS_KEY", &keys.tls_key);
        self.no_web |= variables.switch("INNKEEPER_NO_WEB")?.unwrap_or(false);
        match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) | (None, Some(_)) => Err(
                "TLS needs both a certificate and its key; give --tls-cert and --tls-key, or set \
                 both keys in [server]"
                    .to_owned(),
            ),
            (Some(_), Some(_)) | (None, None) => Ok(self),
        }
    }

    /// The three ways to say which token it is exclude each other, so whoever
    /// says it first decides.
    fn settle_token<F: Fn(&str) -> Option<OsString>>(
        &mut self,
        config: &Config,
        variables: &Variables<F>,
    ) -> Result<(), String> {
        let is_settled = |args: &Self| {
            args.connection_token.is_some()
                || args.connection_token_file.is_some()
                || args.without_connection_token
        };
        if is_settled(self) {
            return Ok(());
        }
        self.connection_token = variables.text("INNKEEPER_CONNECTION_TOKEN")?;
        self.connection_token_file = variables.path("INNKEEPER_CONNECTION_TOKEN_FILE");
        let without = variables.switch("INNKEEPER_WITHOUT_CONNECTION_TOKEN")?;
        self.without_connection_token = without.unwrap_or(false);
        let said = [
            self.connection_token.is_some(),
            self.connection_token_file.is_some(),
            self.without_connection_token,
        ];
        if said.into_iter().filter(|said| *said).count() > 1 {
            return Err(
                "set only one of INNKEEPER_CONNECTION_TOKEN, INNKEEPER_CONNECTION_TOKEN_FILE and \
                 INNKEEPER_WITHOUT_CONNECTION_TOKEN"
                    .to_owned(),
            );
        }
        if !is_settled(self) {
            let keys = &config.server;
            let file = Some(keys.connection_token_file.clone());
            // Somebody who set the variable to `false` wants a token.
            self.without_connection_token = keys.without_connection_token && without.is_none();
            self.connection_token_file =
                file.filter(|file| !file.as_os_str().is_empty() && !self.without_connection_token);
        }
        Ok(())
    }
}

/// Where a host listens that is started without flags.
pub(in crate::cli) fn address_without_flags(
    config: &Config,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<SocketAddr, String> {
    let variables = Variables(variable);
    let host = variables.host()?.unwrap_or(config.server.host);
    let port = variables.port()?.unwrap_or(config.server.port);
    Ok(SocketAddr::new(host, port))
}

/// Variables of the environment; empty ones are not set.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<OsString>> Variables<F> {
    fn value(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    fn host(&self) -> Result<Option<IpAddr>, String> {
        self.parsed("INNKEEPER_HOST", parse_address)
    }

    fn port(&self) -> Result<Option<u16>, String> {
        self.parsed("INNKEEPER_PORT", |port| {
            let number = port.parse();
            number.map_err(|_| format!("`{port}` is not a port; give a number up to 65535"))
        })
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        let value = self.value(name).map(OsString::into_string).transpose();
        value.map_err(|_| format!("the variable {name} is not valid UTF-8"))
    }

    fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let value = self.text(name)?;
        let parsed = value.map(|value| parse(&value)).transpose();
        parsed.map_err(|why| format!("the variable {name} is wrong: {why}"))
    }

    fn switch(&self, name: &str) -> Result<Option<bool>, String> {
        self.parsed(name, |value| match value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(format!("`{value}` is neither `true` nor `false`")),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn settled(
        flags: &[&str],
        variables: &[(&str, &str)],
        config: &Config,
    ) -> Result<ServeArgs, String> {
        let line = Line::try_parse_from([&["serve"], flags].concat()).unwrap();
        let value = |name: &str| {
            let mut set = variables.iter();
            set.find(|(set, _)| *set == name)
                .map(|(_, value)| value.into())
        };
        line.serve.settled(config, value)
    }

    #[test]
    fn a_flag_wins_over_its_variable_and_that_over_the_key() {
        let mut config = Config::default();
        config.server.socket = "/key".into();
        config.server.ready_file = "/ready".into();
        config.only_agents = vec!["key".to_owned()];
        let variables = [
            ("INNKEEPER_SOCKET", "/variable"),
            ("INNKEEPER_PORT", "7"),
            ("INNKEEPER_AGENTS", "a,b"),
            ("INNKEEPER_HOST", ""),
        ];
        let args = settled(&["--port", "8"], &variables, &config).unwrap();
        assert_eq!((args.port, args.host), (Some(8), None));
        assert_eq!(args.socket, Some("/variable".into()));
        assert_eq!(args.ready_file, Some("/ready".into()));
        assert_eq!(args.agents, Some(vec!["a".to_owned(), "b".to_owned()]));
        let args = settled(&["--socket", "/flag"], &variables, &config).unwrap();
        assert_eq!(args.socket, Some("/flag".into()));
    }

    #[test]
    fn whoever_says_first_which_token_it_is_decides() {
        let mut config = Config::default();
        config.server.without_connection_token = true;
        let variable = ("INNKEEPER_CONNECTION_TOKEN", "t");
        let without = ["--without-connection-token"];
        let args = settled(&without, &[variable], &config).unwrap();
        assert!(args.without_connection_token && args.connection_token.is_none());
        let args = settled(&["--connection-token-file", "/f"], &[variable], &config).unwrap();
        assert!(!args.without_connection_token && args.connection_token.is_none());
        let args = settled(&[], &[variable], &config).unwrap();
        assert!(!args.without_connection_token && args.connection_token.is_some());
        assert!(settled(&[], &[], &config).unwrap().without_connection_token);
        let no = ("INNKEEPER_WITHOUT_CONNECTION_TOKEN", "no");
        assert!(
            !settled(&[], &[no], &config)
                .unwrap()
                .without_connection_token
        );
        let yes = ("INNKEEPER_WITHOUT_CONNECTION_TOKEN", "yes");
        let both = settled(&[], &[variable, yes], &config).unwrap_err();
        assert!(both.contains("only one of"), "{both}");
    }

    #[test]
    fn what_is_set_for_others_does_not_concern_a_single_client() {
        let variables = [("INNKEEPER_PORT", "nonsense"), ("INNKEEPER_TLS_CERT", "/c")];
        let args = settled(&["--stdio"], &variables, &Config::default()).unwrap();
        assert_eq!((args.port, args.tls_cert), (None, None));
    }

    #[test]
    fn a_variable_that_is_wrong_is_named() {
        for (name, value) in [
            ("INNKEEPER_PORT", "70000"),
            ("INNKEEPER_HOST", "nowhere"),
            ("INNKEEPER_NO_WEB", "maybe"),
        ] {
            let why = settled(&[], &[(name, value)], &Config::default()).unwrap_err();
            assert!(why.contains(name), "{why}");
        }
        let cert = ("INNKEEPER_TLS_CERT", "/c");
        let why = settled(&[], &[cert], &Config::default()).unwrap_err();
        assert!(why.contains("--tls-key"), "{why}");
    }
}
