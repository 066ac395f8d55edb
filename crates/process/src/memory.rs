//! How much memory a group of processes holds, where the system tells (Linux).

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// In bytes; shared memory counts in parts, so that several groups do not each
/// count all of it.
pub(crate) fn of_group(group: Pid) -> Option<u64> {
    let processes = fs::read_dir("/proc").ok()?;
    let mut sum = None;
    for process in processes.flatten() {
        let directory = process.path();
        let stat = fs::read_to_string(directory.join("stat")).unwrap_or_default();
        if group_in(&stat) == Some(group.as_raw_nonzero().get())
            && let Some(bytes) = of_process(&directory)
        {
            sum = Some(sum.unwrap_or(0) + bytes);
        }
    }
    sum
}

fn of_process(directory: &Path) -> Option<u64> {
    let told = fs::read_to_string(directory.join("smaps_rollup")).ok()?;
    share_in(&told)
}

/// The third field behind the name, which is in brackets and may hold anything.
fn group_in(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(2)?.parse().ok()
}

fn share_in(rollup: &str) -> Option<u64> {
    let mut lines = rollup.lines();
    let kib = lines.find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = kib.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_do_not_confuse() {
        let stat = "7 (a) S 1 (b) c) S 1 4711 4711 0 -1";
        assert_eq!(group_in(stat), Some(4711));
        assert_eq!(group_in(""), None);
    }

    #[test]
    fn the_share_of_a_process_is_told_in_kib() {
        let rollup = "00400000-7fff ---p 0 00:00 0 [rollup]\nRss:  900 kB\nPss:   640 kB\n";
        assert_eq!(share_in(rollup), Some(640 * 1024));
        assert_eq!(share_in("Rss: 1 kB\n"), None);
    }

    #[test]
    fn a_group_has_at_least_what_this_process_has() {
        let own = of_group(rustix::process::getpgrp());
        let this = of_process(Path::new("/proc/self"));
        assert!(own >= this, "{own:?} {this:?}");
    }
}
