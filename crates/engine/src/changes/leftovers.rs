//! What earlier hosts have left on the machine. Whoever ends a session cleans up
//! after it; but a host may have been killed before it had done so, or a session
//! deleted while there was no host.

use std::collections::HashSet;

use innkeeper_protocol::record::CatalogueRow;
use innkeeper_protocol::workspace::changes::component;

use super::worktrees::abandoned;
use crate::catalogue::Catalogue;
use crate::core::Core;
use crate::effect::{Effect, Leftovers};

/// A host begins, and this is there: what no session has any more goes.
pub(crate) fn leftovers_found(core: &mut Core, catalogue: &Catalogue, found: Leftovers) {
    let workspace = &core.config.workspace;
    if !workspace.changes {
        return;
    }
    let unclaimed = unclaimed(found, catalogue, workspace.worktrees.as_deref());
    if unclaimed != Leftovers::default() {
        core.effect(Effect::RemoveLeftovers(unclaimed));
    }
}

impl Leftovers {
    /// Of these, what no session has any more, where there is no engine: `rows`
    /// are the sessions that there are, and `worktrees` is the URI of the
    /// directory that working trees are made in.
    pub fn unclaimed(self, rows: Vec<CatalogueRow>, worktrees: Option<&str>) -> Self {
        unclaimed(self, &Catalogue::new(rows, Vec::new()), worktrees)
    }
}

fn unclaimed(found: Leftovers, catalogue: &Catalogue, worktrees: Option<&str>) -> Leftovers {
    let sessions: HashSet<String> = catalogue
        .sessions()
        .map(|session| component(session.as_str()))
        .collect();
    let mut trees = abandoned(worktrees, catalogue, found.trees.iter());
    // One that was just made is not yet known to its session.
    let maker = |tree: &String| tree.rsplit('/').next().map(str::to_owned);
    trees.retain(|tree| maker(tree).is_some_and(|name| !sessions.contains(&name)));
    let mut kept = found.kept;
    kept.retain(|name| !sessions.contains(name));
    Leftovers { kept, trees }
}
