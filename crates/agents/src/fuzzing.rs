//! The door for fuzzers: what agents say, as text of several lines. Whatever
//! it is, nothing may panic; the rest of what must hold is asserted behind the
//! door.

/// Lines of the Agent Client Protocol, heard during a turn.
pub fn acp(lines: &str) {
    crate::acp::fuzzing::hear(lines);
}

/// Lines of pi, heard during a turn.
pub fn pi(lines: &str) {
    crate::pi::fuzzing::hear(lines);
}

/// Lines of the Model Context Protocol, said to the server with the tools of
/// clients.
pub fn mcp(lines: &str) {
    crate::client_tools::fuzzing::hear(lines);
}
