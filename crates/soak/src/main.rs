//! `cargo xtask soak [--minutes N] [--seed S]`: the soak as a program; and
//! `cargo xtask takeover [--times N]`, which calls it with `--takeovers N`.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use innkeeper_soak::{Extent, Plan, enter_small_disk, run, small_disk};

struct Arguments {
    minutes: u64,
    seed: u64,
    /// So many takeovers, on a database.
    takeovers: Option<u64>,
}

fn main() -> ExitCode {
    match soak() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn soak() -> Result<ExitCode> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let place = tempfile::tempdir()?;
    let mut without_disk = None;
    let disk = small_disk();
    if disk.is_none() && arguments.takeovers.is_none() {
        match enter_small_disk(place.path()) {
            Ok(status) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return Ok(ExitCode::from(code.unwrap_or(1)));
            }
            Err(error) => without_disk = Some(format!("{error:#}")),
        }
    }
    let binary = std::env::current_exe()?.with_file_name("innkeeper");
    if !binary.exists() {
        bail!("{} is not built; use `cargo xtask soak`", binary.display());
    }
    let extent = match arguments.takeovers {
        Some(times) => Extent::Lives(times),
        None => Extent::For(Duration::from_secs(60 * arguments.minutes)),
    };
    println!("seed {}, {extent:?}", arguments.seed);
    let plan = Plan {
        binary,
        can_fill: disk.is_some(),
        place: disk.unwrap_or_else(|| place.path().to_owned()),
        seed: arguments.seed,
        extent,
        takeover: arguments.takeovers.is_some(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut report = runtime.block_on(run(&plan))?;
    report.skipped.extend(without_disk);
    println!("{report}");
    Ok(match report.violations.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

impl Arguments {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = arguments;
        // Without a seed, every run is another one; it is printed.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let mut read = Self {
            minutes: 10,
            seed: now.as_secs(),
            takeovers: None,
        };
        while let Some(argument) = arguments.next() {
            let mut number = || -> Result<u64> {
                let text = arguments
                    .next()
                    .with_context(|| format!("{argument} needs a number"))?;
                text.parse()
                    .with_context(|| format!("{argument}: `{text}` is not a number"))
            };
            match argument.as_str() {
                "--minutes" => read.minutes = number()?,
                "--seed" => read.seed = number()?,
                "--takeovers" => read.takeovers = Some(number()?),
                other => bail!(
                    "unknown argument `{other}`; there are --minutes N, --seed S and --takeovers N"
                ),
            }
        }
        Ok(read)
    }
}
