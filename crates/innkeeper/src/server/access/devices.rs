//! Tokens of single devices: each has a name, may be read-only, and can be
//! revoked without the others.
//!
//! *Invariant*: only hashes are kept. A token has so many random bits that
//! nobody finds one by trying, so a plain hash will do.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::ConnectionToken;

/// A token of one device, as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceToken {
    pub name: String,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// It may look, and change nothing.
    pub read_only: bool,
}

impl fmt::Debug for DeviceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceToken({})", self.name)
    }
}

impl DeviceToken {
    pub fn new(name: impl Into<String>, secret: &ConnectionToken, read_only: bool) -> Self {
        Self {
            name: name.into(),
            hash: hash(secret.reveal()),
            read_only,
        }
    }

    /// Whose token this is. All are compared, so that the time tells nothing.
    pub(super) fn find<'a>(devices: &'a [Self], presented: &str) -> Option<&'a Self> {
        let presented = hash(presented);
        devices.iter().fold(None, |found, device| {
            match bool::from(device.hash.ct_eq(&presented)) {
                true => Some(device),
                false => found,
            }
        })
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Who presented a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Whoever has the connection token, or needs none.
    Owner,
    Device(DeviceToken),
}

impl Caller {
    /// For the log.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Owner => "owner",
            Self::Device(device) => &device.name,
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Self::Owner => false,
            Self::Device(device) => device.read_only,
        }
    }
}
