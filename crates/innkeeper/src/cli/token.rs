//! `innkeeper token`: tokens of single devices. They are kept in the data
//! directory, as hashes; a running host is told about every change.

use std::fs::{self, File, TryLockError};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use innkeeper::server::access::{ConnectionToken, DeviceToken, write_private};
use innkeeper_protocol::Timestamp;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde::{Deserialize, Serialize};

use super::control::RunningHost;
use super::done::DoneArgs;
use super::logging;
use super::place::PlaceArgs;
use super::serve::{Link, Status};
use super::{Outcome, complain, completing, print, text};
use innkeeper::now;

const FILE: &str = "tokens.json";
/// Whoever changes the file has this one locked.
const LOCK: &str = "tokens.lock";

/// How long others may take to change the file.
const OTHERS: Duration = Duration::from_secs(10);

/// More than anybody has devices.
const MOST_TOKENS: usize = 1_000;
const LONGEST_NAME: usize = 64;
/// Longer than a file with so many tokens can be.
const LONGEST_FILE: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token for a device and print it once
    Add {
        /// Name of the device, in lists and in the log
        name: String,
        /// Let the device follow everything but change nothing
        #[arg(long)]
        read_only: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// List device tokens
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Revoke a token and close the connections that use it
    Revoke {
        /// Name of the device
        #[arg(add = ArgValueCompleter::new(completing::devices))]
        name: String,
        #[command(flatten)]
        done: DoneArgs,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

/// A token in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    name: String,
    /// SHA-256, in hexadecimal.
    hash: String,
    #[serde(default)]
    read_only: bool,
    created_at: String,
}

impl Kept {
    fn new(device: DeviceToken, created_at: String) -> Self {
        let digits = device.hash.iter().map(|byte| format!("{byte:02x}"));
        Self {
            hash: digits.collect(),
            name: device.name,
            read_only: device.read_only,
            created_at,
        }
    }

    fn token(&self) -> Option<DeviceToken> {
        let mut hash = [0; 32];
        if self.hash.len() != 2 * hash.len() || !self.hash.bytes().all(|it| it.is_ascii_hexdigit())
        {
            return None;
        }
        for (number, byte) in hash.iter_mut().enumerate() {
            let digits = self.hash.get(2 * number..2 * number + 2)?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(DeviceToken {
            name: self.name.clone(),
            hash,
            read_only: self.read_only,
        })
    }
}

/// The tokens of devices in a data directory.
pub(crate) fn load(data_dir: &Path) -> Result<Vec<DeviceToken>> {
    let kept = read(data_dir)?;
    let tokens = kept.iter().map(Kept::token);
    let tokens: Option<Vec<DeviceToken>> = tokens.collect();
    tokens.ok_or_else(|| anyhow!(spoilt(data_dir)))
}

fn spoilt(data_dir: &Path) -> String {
    format!(
        "{} is damaged; remove it, and create new device tokens with `innkeeper token add`",
        data_dir.join(FILE).display()
    )
}

fn read(data_dir: &Path) -> Result<Vec<Kept>> {
    let path = data_dir.join(FILE);
    let unread = || format!("{} cannot be read", path.display());
    let file = match File::options()
        .read(true)
        .custom_flags(without_waiting())
        .open(&path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(unread),
    };
    if !file.metadata().with_context(unread)?.is_file() {
        bail!(
            "{} is not a regular file; remove it, and create new device tokens with `innkeeper \
             token add`",
            path.display()
        );
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .with_context(unread)?;
    if bytes.len() as u64 > LONGEST_FILE {
        bail!(spoilt(data_dir));
    }
    serde_json::from_slice(&bytes).with_context(|| spoilt(data_dir))
}

/// Changes the file, which appears wholly or not at all, while nobody else does.
fn change(data_dir: &Path, change: impl FnOnce(&mut Vec<Kept>) -> Result<()>) -> Result<()> {
    let unwritten = || format!("the tokens in {} cannot be changed", data_dir.display());
    make_private(data_dir).with_context(unwritten)?;
    let _lock = locked(&data_dir.join(LOCK)).with_context(unwritten)?;
    let mut kept = read(data_dir)?;
    change(&mut kept)?;
    let unfinished = data_dir.join(format!("{FILE}.{}", std::process::id()));
    let _ = fs::remove_file(&unfinished);
    write_private(&unfinished, &serde_json::to_string_pretty(&kept)?).with_context(unwritten)?;
    fs::rename(&unfinished, data_dir.join(FILE)).with_context(unwritten)
}

/// Opening a pipe would wait for who is at its other end.
fn without_waiting() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0)
}

/// Waits until nobody else has it, though not for ever.
fn locked(path: &Path) -> Result<File> {
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(without_waiting())
        .open(path)?;
    let end = Instant::now() + OTHERS;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => bail!(
                "another process has {} locked; end it, and try again",
                path.display()
            ),
        }
    }
}

fn make_private(data_dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700).recursive(true).create(data_dir)
}

pub(crate) async fn token(args: TokenArgs) -> Outcome {
    match args.action {
        Action::Add {
            name,
            read_only,
            json,
            place,
        } => add(&name, read_only, json, &place).await,
        Action::List { json, place } => list(json, &place),
        Action::Revoke { name, done, place } => revoke(&name, done, &place).await,
    }
}

async fn add(name: &str, read_only: bool, json: bool, place: &PlaceArgs) -> Outcome {
    let name = text::one_line(name);
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err(anyhow!("give the device a name of 1 to {LONGEST_NAME} characters").into());
    }
    let data_dir = place.data_dir()?;
    let secret = ConnectionToken::random().context("failed to generate a random token")?;
    let device = DeviceToken::new(name.clone(), &secret, read_only);
    change(&data_dir, |kept| {
        if kept.iter().any(|it| it.name == name) {
            bail!("there is a token `{name}` already; revoke it first, or use another name");
        }
        if kept.len() >= MOST_TOKENS {
            bail!("there are {MOST_TOKENS} tokens already; revoke some");
        }
        kept.push(Kept::new(device, now().to_string()));
        Ok(())
    })?;
    let host = told_to_host(&data_dir).await?;
    let lets_all_in = match &host {
        Some(host) => host.lets_all_in,
        None => place.config()?.server.without_connection_token,
    };
    if lets_all_in {
        complain(
            "warning: the host needs no token (`--without-connection-token`), so this one has no \
             effect; every client can do everything",
        );
    }
    let link = host.and_then(|host| host.web).map(|web| {
        let secret = secret.reveal();
        format!("{web}?tkn={secret}")
    });
    if json {
        let value = serde_json::json!({
            "name": name, "token": secret.reveal(), "readOnly": read_only, "web": link,
        });
        return print(&(serde_json::to_string_pretty(&value)? + "\n"));
    }
    let what = if read_only {
        "read-only token"
    } else {
        "token"
    };
    let mut said = format!(
        "The {what} for `{name}`, which is not shown again:\n{}\n",
        secret.reveal()
    );
    if let Some(link) = link {
        said += &format!("Web client:  {link}\n");
        if io::stdout().is_terminal() {
            said += &qr_code(&link);
        }
    }
    print(&said)
}

/// What a running host is to devices.
struct Reached {
    /// Where others reach its web client.
    web: Option<String>,
    /// It does not ask for a token.
    lets_all_in: bool,
}

/// Lets a running host know, and waits until it has read the file again.
async fn told_to_host(data_dir: &Path) -> Result<Option<Reached>> {
    let Some(host) = RunningHost::find_in(data_dir) else {
        return Ok(None);
    };
    let told = host.post("/control/tokens", String::new()).await;
    let told = told.and_then(|answer| match answer.status.is_success() {
        true => Ok(()),
        false => Err(anyhow!(answer.text.trim_end().to_owned())),
    });
    told.with_context(|| {
        let pid = host.pid;
        format!("{FILE} was changed, but the host (process {pid}) was not notified; restart it")
    })?;
    let status: Status = host.get("/control/status").await?;
    let lets_all_in = match status.web {
        // One that listens on no port has no link.
        None => false,
        Some(_) => !host.get::<Link>("/control/link").await?.has_token(),
    };
    Ok(Some(Reached {
        web: status.reachable.into_iter().next().or(status.web),
        lets_all_in,
    }))
}

fn list(json: bool, place: &PlaceArgs) -> Outcome {
    let kept = read(&place.data_dir()?)?;
    if json {
        let all = kept.iter().map(|it| {
            serde_json::json!({"name": it.name, "readOnly": it.read_only, "createdAt": it.created_at})
        });
        let all: Vec<_> = all.collect();
        return print(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    if kept.is_empty() {
        return print("There are no device tokens; create one with `innkeeper token add NAME`.\n");
    }
    let mut rows = vec![["NAME", "ACCESS", "CREATED"].map(str::to_owned)];
    let now = now();
    rows.extend(kept.iter().map(|it| {
        let may = if it.read_only { "read" } else { "everything" };
        let made = Timestamp::parse(&it.created_at).map(|at| text::ago(at, now));
        [
            text::one_line(&it.name),
            may.to_owned(),
            made.unwrap_or_default(),
        ]
    }));
    print(&text::table(&rows))
}

async fn revoke(name: &str, done: DoneArgs, place: &PlaceArgs) -> Outcome {
    let name = text::one_line(name);
    let data_dir = place.data_dir()?;
    change(&data_dir, |kept| {
        let before = kept.len();
        kept.retain(|it| it.name != name);
        match kept.len() < before {
            true => Ok(()),
            false => bail!("unknown token `{name}`; see `innkeeper token list`"),
        }
    })?;
    told_to_host(&data_dir).await?;
    let object = serde_json::json!({"status": "revoked", "name": name});
    done.say(&format!("Revoked the token of `{name}`."), &object)
}

/// An address to point a camera at. Cameras want dark on light, whatever the
/// colours of the terminal are; where it must not be coloured, it is taken to
/// be dark.
pub(crate) fn qr_code(link: &str) -> String {
    let Ok(code) = QrCode::new(link) else {
        return String::new();
    };
    let image = code
        .render::<Dense1x2>()
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .build();
    let lines = image.lines().map(|line| match logging::wants_colours() {
        true => format!("\x1b[97;40m{line}\x1b[0m\n"),
        false => format!("{line}\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_a_hash() {
        let home = tempfile::tempdir().unwrap();
        let secret = ConnectionToken::random().unwrap();
        let device = DeviceToken::new("phone", &secret, true);
        change(home.path(), |kept| {
            kept.push(Kept::new(device.clone(), String::new()));
            Ok(())
        })
        .unwrap();
        assert_eq!(load(home.path()).unwrap(), [device]);
        let text = fs::read_to_string(home.path().join(FILE)).unwrap();
        assert!(!text.contains(secret.reveal()));
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(home.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_hash_that_is_none_lets_nobody_in() {
        for hash in [
            "",
            "zz",
            &"0".repeat(63),
            &"0".repeat(65),
            &"+f".repeat(32),
            "é",
        ] {
            let kept = Kept {
                name: String::new(),
                hash: hash.to_owned(),
                read_only: false,
                created_at: String::new(),
            };
            assert!(kept.token().is_none(), "{hash}");
        }
    }
}
