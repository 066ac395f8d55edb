//! Sessions that are kept in PostgreSQL: whether the database can be reached
//! and read by this release, and which host works on it.

use innkeeper_protocol::record::store::Archive as _;
use innkeeper_store::{Holder, PostgresAddress, PostgresError, open_postgres_read_only};

use super::Finding::{self, Fine, Problem};
use crate::cli::text;

pub(super) fn check(address: &PostgresAddress) -> Vec<Finding> {
    match look(address) {
        Ok(findings) => findings,
        Err(PostgresError::Missing { .. }) => vec![Fine(format!(
            "store: nothing in the database {address} yet; the first start creates it"
        ))],
        Err(error) => vec![Problem(format!(
            "store: {}",
            text::one_line(&error.to_string())
        ))],
    }
}

/// The version of the schema is looked at when it is opened.
fn look(address: &PostgresAddress) -> Result<Vec<Finding>, PostgresError> {
    let reader = open_postgres_read_only(address)?;
    let store = match reader.catalogue() {
        Ok(rows) => {
            let sessions = text::count(rows.len(), "session");
            Fine(format!("store: {sessions} in the database {address}"))
        }
        Err(fault) => Problem(format!("store: {}", text::one_line(&fault.to_string()))),
    };
    let lease = match reader.holder()? {
        None => "lease: free; the next host to start works".to_owned(),
        Some(Holder { address, left }) => {
            let at = match address.as_str() {
                "" => String::new(),
                address => format!(" by the host at {}", text::one_line(address)),
            };
            let left = left.as_secs_f64();
            format!("lease: held{at}, for {left:.0} s if it is not renewed")
        }
    };
    Ok(vec![store, Fine(lease)])
}
