//! Whatever an agent says to the server with the tools of clients.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(lines) = std::str::from_utf8(data) {
        innkeeper_agents::fuzzing::mcp(lines);
    }
});
