//! Whatever an agent says in the Agent Client Protocol during a turn.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(lines) = std::str::from_utf8(data) {
        innkeeper_agents::fuzzing::acp(lines);
    }
});
