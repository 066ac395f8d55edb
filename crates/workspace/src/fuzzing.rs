//! The door for fuzzers: what programs say and what files hold. Whatever it is,
//! nothing may panic; the rest of what must hold is asserted behind the door.

/// What a terminal shows, in chunks of these sizes.
pub fn terminal(bytes: &[u8], chunks: &[u8]) {
    crate::terminals::fuzzing::read(bytes, chunks);
}

/// What git says about a repository.
pub fn git(said: &[u8]) {
    crate::changes::fuzzing::read(said);
}

/// The files of a plugin: a path, a line break and a text each.
pub fn customizations(files: &[(&str, &str)]) {
    crate::customizations::fuzzing::read(files);
}
