//! Whatever a terminal shows, in whatever chunks it comes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some((chunks, bytes)) = data.split_first_chunk::<8>() {
        innkeeper_workspace::fuzzing::terminal(bytes, chunks);
    }
});
