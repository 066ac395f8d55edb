//! Renames: a file that went and one that came, if they are alike.

use std::path::PathBuf;

use innkeeper_protocol::workspace::lines::{Comparison, MOST_COUNTED, Steps, is_binary};

use super::super::entries::{Change, Content};
use super::{GitResult, LiveView, MOST_WORK, Present, Sight, shared};

/// Renames are looked for among at most this many files that went, and that
/// came.
const MOST_GONE: usize = 100;
const MOST_NEW: usize = 500;
/// And if all that is compared is at most this long.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// How alike two files must be to be one that was renamed.
const ALIKE: f64 = 0.5;

/// How alike two files are, and the lines that were added and removed between
/// them.
pub(super) type Likeness = (f64, Option<(u32, u32)>);

/// What may be one file that was renamed.
struct Candidate {
    gone: PathBuf,
    new: PathBuf,
    /// The content before, and what tells that after.
    blob: String,
    stamp: String,
}

impl LiveView {
    /// The changes, with those that are one half of a rename put together.
    pub(super) fn with_renames(&mut self, sight: &mut Sight<'_>) -> GitResult<Vec<Change>> {
        let mut changes = self.changes.clone();
        let gone = changes.iter().filter(|(_, change)| change.after.is_none());
        let gone: Vec<PathBuf> = gone.map(|(path, _)| path.clone()).collect();
        let new = changes.iter().filter(|(_, change)| change.before.is_none());
        let new: Vec<PathBuf> = new.map(|(path, _)| path.clone()).collect();
        let mut pairs = Vec::new();
        let candidates = self.candidates(&gone, &new);
        let steps = shared(MOST_WORK, candidates.len());
        for candidate in candidates {
            let (likeness, lines) = self.likeness(sight, &candidate, steps)?;
            if likeness >= ALIKE {
                pairs.push((likeness, candidate.gone, candidate.new, lines));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, gone, new, lines) in pairs {
            // Each has one other half, the best one.
            let unpaired = |path: &PathBuf| {
                let change = changes.get(path);
                change.is_some_and(|it| it.before.is_none() != it.after.is_none())
            };
            if unpaired(&gone)
                && unpaired(&new)
                && let Some(old) = changes.remove(&gone)
                && let Some(young) = changes.get_mut(&new)
            {
                young.before = old.before;
                young.lines = lines;
            }
        }
        Ok(changes.into_values().collect())
    }

    /// Files of similar size, one that went and one that came; none if comparing
    /// them all would be too much.
    fn candidates(&self, gone: &[PathBuf], new: &[PathBuf]) -> Vec<Candidate> {
        if gone.len() > MOST_GONE || new.len() > MOST_NEW {
            return Vec::new();
        }
        let (mut candidates, mut bytes) = (Vec::new(), 0_u64);
        for gone in gone {
            let old = self.changes.get(gone).and_then(|it| it.before.as_ref());
            for new in new {
                let young = self.changes.get(new).and_then(|it| it.after.as_ref());
                let (Some(old), Some(young)) = (old, young) else {
                    continue;
                };
                let (Some(a), Some(b)) = (old.size, young.size) else {
                    continue;
                };
                let (Content::Kept(blob), Content::Present(stamp)) = (&old.content, &young.content)
                else {
                    continue;
                };
                let far_apart = a.min(b).saturating_mul(4) < a.max(b);
                if far_apart || a.max(b) > MOST_COUNTED || a == 0 {
                    continue;
                }
                bytes = bytes.saturating_add(a + b);
                candidates.push(Candidate {
                    gone: gone.clone(),
                    new: new.clone(),
                    blob: blob.id.clone(),
                    stamp: format!("{stamp} {}", young.path.display()),
                });
            }
        }
        if bytes > MOST_BYTES {
            return Vec::new();
        }
        candidates
    }

    fn likeness(
        &mut self,
        sight: &mut Sight<'_>,
        candidate: &Candidate,
        steps: Steps,
    ) -> GitResult<Likeness> {
        let key = (candidate.blob.clone(), candidate.stamp.clone());
        if let Some(known) = self.likeness.get(&key) {
            return Ok(*known);
        }
        let before = sight.blobs.read(&candidate.blob)?.unwrap_or_default();
        let after = Present::read(sight.tree, &candidate.new).and_then(|it| it.data);
        let after = after.unwrap_or_default();
        let likeness = match is_binary(&before) || is_binary(&after) {
            true => (f64::from(u8::from(before == after)), None),
            false => {
                let compared = Comparison::new(&before, &after, steps);
                let lines = (compared.added(), compared.removed());
                (compared.likeness(), Some(lines))
            }
        };
        if self.likeness.len() > MOST_GONE * MOST_NEW {
            self.likeness.clear();
        }
        self.likeness.insert(key, likeness);
        Ok(likeness)
    }
}
