//! `innkeeper config`: where the configuration file is, whether it is valid,
//! and what it makes of all keys.

use anyhow::Context as _;
use clap::{Args, Subcommand};

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
    Check(PlaceArgs),
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
        Action::Check(place) => {
            place.database(&place.config()?)?;
            let file = place.config_file()?;
            let name = file.display();
            match file.try_exists() {
                Ok(true) => print(&format!("{name} is valid.\n")),
                Ok(false) | Err(_) => print(&format!("There is no {name}; the defaults apply.\n")),
            }
        }
        Action::Path(place) => print(&format!("{}\n", place.config_file()?.display())),
        Action::Show { json, place } => {
            let config = place.config()?;
            let shown = match json {
                true => serde_json::to_string_pretty(&config)? + "\n",
                false => toml::to_string(&config)
                    .context("the configuration cannot be written as TOML")?,
            };
            print(&shown)
        }
    }
}
