//! Names and numbers that are easily taken for one another, as types of their
//! own. On the wire and on disk they are what they stand for: a number, a text.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Add, Deref};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::bounded_id;

/// A place in the one sequence of the host: `serverSeq`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// Before every action.
    pub const ZERO: Self = Self(0);
    /// Behind every action.
    pub const MAX: Self = Self(u64::MAX);

    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    pub const fn get(self) -> u64 {
        self.0
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// So many places before this one, or the beginning.
    #[must_use]
    pub const fn back(self, places: u64) -> Self {
        Self(self.0.saturating_sub(places))
    }
}

impl Add<u64> for Seq {
    type Output = Self;

    fn add(self, places: u64) -> Self {
        Self(self.0.saturating_add(places))
    }
}

impl From<u64> for Seq {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A name that somebody gave: of what, its type says.
macro_rules! id {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        /// Whoever takes any text takes a name.
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(Arc::from(id))
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(Arc::from(id))
            }
        }

        impl From<&String> for $name {
            fn from(id: &String) -> Self {
                Self::from(id.as_str())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                *self.0 == *other
            }
        }

        /// The protocol's own types have texts for names.
        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                *self.0 == **other
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, other: &$name) -> bool {
                **self == *other.0
            }
        }
    };
}

id! {
    /// The name that a client gives itself, and comes back under.
    ClientId
}

id! {
    /// The name of a turn, unique in its chat.
    TurnId
}

id! {
    /// The name of a tool call, unique in its turn.
    CallId
}

impl CallId {
    /// The call that an agent calls so, however long its names are.
    pub fn of_agent(id: &str) -> Self {
        Self::from(bounded_id(id))
    }
}
