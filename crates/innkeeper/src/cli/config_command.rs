//! `innkeeper config`: where the configuration file is, whether it is valid,
//! and what it makes of all keys.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use innkeeper_store::without_password;
use serde_json::json;

use super::done::DoneArgs;
use super::place::PlaceArgs;
use super::{Outcome, print};

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check the configuration file
    Check {
        #[command(flatten)]
        done: DoneArgs,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Print the path of the configuration file
    Path(PlaceArgs),
    /// Print all keys with their values, including defaults
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

pub(crate) fn config(args: ConfigArgs) -> Outcome {
    match args.action {
        Action::Check { done, place } => {
            place.database(&place.config()?)?;
            let file = place.config_file()?;
            let name = file.display();
            let exists = file.try_exists().unwrap_or(false);
            let sentence = match exists {
                true => format!("{name} is valid."),
                false => format!("{name} does not exist; the defaults apply."),
            };
            done.say(&sentence, &json!({"file": file, "exists": exists}))
        }
        Action::Path(place) => print(&format!("{}\n", place.config_file()?.display())),
        Action::Show { json, place } => {
            let mut config = place.config()?;
            // It is often shown to others.
            config.store.url = config.store.url.map(|url| without_password(&url));
            let shown = match json {
                true => serde_json::to_string_pretty(&config)? + "\n",
                false => toml::to_string(&config)
                    .context("the configuration cannot be written as TOML")?,
            };
            print(&shown)
        }
    }
}
