//! The files that an agent writes through the host in the course of a call: the
//! host knows what was in them before, and shows that in the call if the agent
//! does not.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest file that is shown, before or after.
pub(super) const LARGEST_SHOWN: usize = 256 * 1024;

/// The most files that are kept until a call shows them, or are shown in one.
const MOST: usize = 32;

/// A file that was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    /// Nothing, if it was not there.
    pub(super) before: Option<String>,
    pub(super) after: String,
}

/// What was written lately. Those who write leave it here before the agent hears
/// that it is done.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent(Arc<Mutex<VecDeque<Written>>>);

impl Recent {
    pub(super) fn add(&self, written: Written) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == MOST {
            recent.pop_front();
        }
        recent.push_back(written);
    }

    pub(super) fn take(&self) -> VecDeque<Written> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *recent)
    }
}

/// What one call has written, each file once.
#[derive(Debug, Default)]
pub(super) struct OfCall(Vec<Written>);

impl OfCall {
    /// A file that is written again is what it was before the first time.
    pub(super) fn add(&mut self, written: Written) {
        let has_room = self.0.len() < MOST;
        match self.0.iter_mut().find(|it| it.path == written.path) {
            Some(known) => known.after = written.after,
            None if has_room => self.0.push(written),
            None => {}
        }
    }

    /// Those that are not shown by the agent itself.
    pub(super) fn besides<'a>(
        &'a self,
        shown: impl Fn(&Path) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Written> {
        self.0.iter().filter(move |written| !shown(&written.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &str, before: &str, after: &str) -> Written {
        Written {
            path: path.into(),
            before: Some(before.to_owned()),
            after: after.to_owned(),
        }
    }

    #[test]
    fn a_file_that_is_written_twice_is_one_change() {
        let mut of_call = OfCall::default();
        of_call.add(written("/a", "1", "2"));
        of_call.add(written("/b", "", "x"));
        of_call.add(written("/a", "2", "3"));
        let shown: Vec<&Written> = of_call.besides(|path| path == Path::new("/b")).collect();
        assert_eq!(shown, [&written("/a", "1", "3")]);
    }

    #[test]
    fn what_nobody_shows_is_not_kept_for_ever() {
        let recent = Recent::default();
        for n in 0..2 * MOST {
            recent.add(written(&n.to_string(), "", ""));
        }
        let kept = recent.take();
        assert_eq!(kept.len(), MOST);
        assert_eq!(kept[0].path, Path::new(&MOST.to_string()));
        assert!(recent.take().is_empty());
    }
}
