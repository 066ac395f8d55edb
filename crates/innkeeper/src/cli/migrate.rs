//! `innkeeper migrate`: moves everything that is stored from a data directory
//! into PostgreSQL, or back.

use std::path::Path;

use clap::Args;
use innkeeper_store::{
    PostgresAddress, StoreOptions, StorePlace, has_password, is_postgres, transfer,
};
use serde_json::json;

use super::done::DoneArgs;
use super::{Failure, Outcome, text};
use innkeeper::now;

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Source: a data directory, or postgres://user@host/database
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Target, which must be empty: a data directory, or postgres://user@host/database
    #[arg(long, value_name = "PLACE")]
    to: String,
    #[command(flatten)]
    done: DoneArgs,
}

pub(crate) fn migrate(args: &MigrateArgs) -> Outcome {
    let (from, to) = (place(&args.from)?, place(&args.to)?);
    if let StorePlace::Directory(directory) = &from
        && !directory.join(innkeeper_store::DATABASE_FILE).exists()
    {
        let directory = directory.display();
        return Err(Failure::Usage(format!("{directory} contains no database")));
    }
    let options = StoreOptions {
        now: now(),
        ..StoreOptions::default()
    };
    let moved = transfer(&from, &to, options)?;
    let of = |name| {
        let found = moved.iter().find(|(table, _)| *table == name);
        found.map_or(0, |(_, rows)| *rows)
    };
    let rows: usize = moved.iter().map(|(_, rows)| rows).sum();
    let (sessions, turns) = (of("session"), of("turn"));
    let sentence = format!(
        "Copied {} with {}, and compared {} one by one. The source is unchanged.",
        text::count(sessions, "session"),
        text::count(turns, "turn"),
        text::count(rows, "row"),
    );
    let object = json!({"sessions": sessions, "turns": turns, "rows": rows});
    args.done.say(&sentence, &object)
}

fn place(text: &str) -> Result<StorePlace, Failure> {
    if !is_postgres(text) {
        return Ok(StorePlace::Directory(std::path::absolute(Path::new(text))?));
    }
    if has_password(text) {
        return Err(Failure::Usage(
            "every user of this machine can read a password on the command line; put it into \
             PGPASSWORD, or a file that PGPASSFILE names"
                .to_owned(),
        ));
    }
    let address = PostgresAddress::parse(text, |name| std::env::var(name).ok())?;
    Ok(StorePlace::Postgres(Box::new(address)))
}
