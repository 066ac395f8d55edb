//! How often each version was told each type of action.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{ACTION_TYPES, VERSIONS, age};

#[derive(Debug, Default, Clone)]
pub struct Coverage(BTreeMap<(String, String), u64>);

impl Coverage {
    pub fn note(&mut self, version: &str, kind: &str) {
        let cell = (version.to_owned(), kind.to_owned());
        *self.0.entry(cell).or_default() += 1;
    }

    pub fn add(&mut self, other: Self) {
        for (cell, count) in other.0 {
            *self.0.entry(cell).or_default() += count;
        }
    }

    pub fn count(&self, version: &str, kind: &str) -> u64 {
        let cell = (version.to_owned(), kind.to_owned());
        self.0.get(&cell).copied().unwrap_or(0)
    }

    /// All cells, by action type and version, with a dash where the version
    /// has no such type.
    pub fn table(&self) -> String {
        let mut table = format!("{:44}", "action type");
        for version in VERSIONS {
            let _ = write!(table, "{version:>8}");
        }
        for (kind, since, until) in ACTION_TYPES {
            let _ = write!(table, "\n{kind:44}");
            for version in VERSIONS {
                let _ = match has(version, since, until) {
                    true => write!(table, "{:>8}", self.count(version, kind)),
                    false => write!(table, "{:>8}", "-"),
                };
            }
        }
        table
    }

    /// What versions have and were never told.
    pub fn empty_cells(&self) -> Vec<(&'static str, &'static str)> {
        let cells = ACTION_TYPES.iter().flat_map(|&(kind, since, until)| {
            let having = VERSIONS.into_iter();
            let having = having.filter(move |version| has(version, since, until));
            having.map(move |version| (version, kind))
        });
        cells
            .filter(|(version, kind)| self.count(version, kind) == 0)
            .collect()
    }
}

fn has(version: &str, since: &str, until: &str) -> bool {
    (age(since)..=age(until)).contains(&age(version))
}
