//! Which paths a watch reports.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use innkeeper_protocol::workspace::resource::ResourceError;

/// The patterns of a watch, relative to what is watched. One that matches a
/// directory matches everything in it.
#[derive(Debug)]
pub(super) struct Filter {
    includes: Option<GlobSet>,
    excludes: GlobSet,
}

impl Filter {
    pub(super) fn new(includes: &[String], excludes: &[String]) -> Result<Self, ResourceError> {
        let includes = match includes {
            [] => None,
            includes => Some(globs(includes)?),
        };
        Ok(Self {
            includes,
            excludes: globs(excludes)?,
        })
    }

    pub(super) fn lets_through(&self, relative: &Path) -> bool {
        let matches = |globs: &GlobSet| relative.ancestors().any(|path| globs.is_match(path));
        // What is watched itself is always of interest.
        relative.as_os_str().is_empty()
            || self.includes.as_ref().is_none_or(matches) && !matches(&self.excludes)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, ResourceError> {
    let invalid = |error: globset::Error| ResourceError::Invalid(error.to_string());
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(invalid)?);
    }
    set.build().map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(includes: &[&str], excludes: &[&str], path: &str) -> bool {
        let owned = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let filter = Filter::new(&owned(includes), &owned(excludes)).unwrap();
        filter.lets_through(Path::new(path))
    }

    #[test]
    fn patterns_are_relative_and_take_in_whole_directories() {
        assert!(check(&[], &[], "a/b"));
        assert!(!check(&[], &["node_modules/"], "node_modules/x/y"));
        assert!(!check(&[], &["**/target"], "a/target/debug/x"));
        assert!(check(&["src"], &[], "src/main.rs"));
        assert!(!check(&["src"], &[], "docs/main.md"));
        assert!(check(&["**/*.rs"], &[], "a/b/c.rs"));
        assert!(!check(&["*.rs"], &[], "a/c.rs"));
        assert!(check(&["./*.rs"], &["b*"], "a.rs"));
        assert!(!check(&["*.rs"], &["b*"], "b.rs"));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        let broken = Filter::new(&["[".to_owned()], &[]);
        assert!(matches!(broken, Err(ResourceError::Invalid(_))));
    }
}
