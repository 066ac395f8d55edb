//! `innkeeper config`: where the configuration file is, whether it is right,
//! and what counts in the end.

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
    /// Say what is wrong with the configuration file, if anything is
    Check(PlaceArgs),
    /// Print where the configuration file is
    Path(PlaceArgs),
    /// Print what counts, with the defaults
    Show {
        /// For programs: as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

pub(crate) fn config(args: ConfigArgs) -> Outcome {
    match args.action {
        Action::Check(place) => {
            place.config()?;
            let file = place.config_file()?;
            let name = file.display();
            match file.try_exists() {
                Ok(true) => print(&format!("{name} is right.\n")),
                Ok(false) | Err(_) => print(&format!(
                    "There is no {name}; the defaults count, and nothing is wrong with them.\n"
                )),
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
