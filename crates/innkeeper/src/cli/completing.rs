//! What a shell completes: sessions, agents, models and devices that there are.
//!
//! *Invariant*: completing starts nothing, waits for nobody and says nothing of
//! what is wrong.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;
use innkeeper_protocol::newest::state::SessionSummary;
use innkeeper_protocol::record::store::Archive as _;
use innkeeper_store::open_read_only;

use super::agents::{Finder, Found};
use super::environment::environment;
use super::place::PlaceArgs;
use super::sessions::ids;
use super::{text, token};

/// How many sessions are offered, the latest first.
const MOST_SESSIONS: usize = 100;

/// How much of a title is shown.
const TITLE: usize = 60;

fn begins<'a>(current: &'a OsStr) -> impl Fn(&str) -> bool + 'a {
    let typed = current.to_string_lossy().into_owned();
    move |name| name.starts_with(&typed)
}

pub(crate) fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let rows = || {
        let data_dir = PlaceArgs::of_environment().data_dir().ok()?;
        open_read_only(&data_dir).ok()?.catalogue().ok()
    };
    let rows = rows().unwrap_or_default();
    let uris: Vec<&str> = rows.iter().map(|row| row.session.as_str()).collect();
    let named = ids::short(&uris).into_iter().zip(&rows);
    let fits = begins(current);
    let fitting = named.filter(|(id, _)| fits(id)).take(MOST_SESSIONS);
    let candidate = |(id, row): (String, &innkeeper_protocol::record::CatalogueRow)| {
        let summary = row.summary.text().ok();
        let summary = summary.and_then(|it| serde_json::from_str::<SessionSummary>(&it).ok());
        let title = summary.map(|it| text::shortened(&text::one_line(&it.title), TITLE));
        CompletionCandidate::new(id).help(title.map(Into::into))
    };
    fitting.map(candidate).collect()
}

/// The agents that the user's `PATH` leads to.
fn found() -> Vec<Found> {
    let place = PlaceArgs::of_environment();
    let found = || {
        let config = place.config().ok()?;
        let environment = environment(&config);
        let (registry, data_dir) = (place.registry().ok()?, place.data_dir().ok()?);
        let finder = Finder::new(config, registry, data_dir, environment, None);
        Some(finder.found_on(&std::env::var_os("PATH").unwrap_or_default()))
    };
    found().unwrap_or_default()
}

pub(crate) fn agents(current: &OsStr) -> Vec<CompletionCandidate> {
    let fits = begins(current);
    let infos = found().into_iter().map(|found| found.agent.profile().info);
    let fitting = infos.filter(|info| fits(&info.provider));
    fitting
        .map(|info| CompletionCandidate::new(info.provider).help(Some(info.display_name.into())))
        .collect()
}

/// The agents that `innkeeper agents install` knows.
pub(crate) fn installable(current: &OsStr) -> Vec<CompletionCandidate> {
    let fits = begins(current);
    let registry = PlaceArgs::of_environment().registry();
    let rows = registry
        .as_ref()
        .map_or(&[][..], |registry| registry.rows());
    let packaged = rows.iter().filter(|row| row.package().is_some());
    packaged
        .filter(|row| fits(row.provider()))
        .map(|row| CompletionCandidate::new(row.provider()).help(Some(row.name.clone().into())))
        .collect()
}

pub(crate) fn devices(current: &OsStr) -> Vec<CompletionCandidate> {
    let fits = begins(current);
    let data_dir = PlaceArgs::of_environment().data_dir();
    let devices = data_dir.and_then(|data_dir| token::load(&data_dir));
    let names = devices.unwrap_or_default().into_iter().map(|it| it.name);
    names
        .filter(|name| fits(name))
        .map(CompletionCandidate::new)
        .collect()
}

pub(crate) fn models(current: &OsStr) -> Vec<CompletionCandidate> {
    let fits = begins(current);
    let infos = found().into_iter().map(|found| found.agent.profile().info);
    let models = infos.flat_map(|info| {
        let provider = info.display_name;
        let named =
            move |id: String| CompletionCandidate::new(id).help(Some(provider.clone().into()));
        let ids = info.models.into_iter().map(|model| model.id);
        ids.map(named).collect::<Vec<_>>()
    });
    models
        .filter(|candidate| fits(&candidate.get_value().to_string_lossy()))
        .collect()
}
