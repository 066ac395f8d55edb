//! Whatever git says.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| innkeeper_workspace::fuzzing::git(data));
