//! The gates: one for each step between two neighbouring protocol versions.
//!
//! A gate knows only the difference between its two versions, in both
//! directions: `up` for what a client sends, `down` for what it is sent. A
//! client of the newest version passes no gate. The law that every gate keeps:
//! folding the lowered actions with the older version's own reducers gives the
//! lowered state.
//!
//! The host speaks the newest version only so far; the first gate goes here.
