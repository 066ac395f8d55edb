//! Encrypted connections to the database: its certificate is always checked.

use std::fs;

use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{PostgresError, PostgresStore};
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::cluster::Cluster;
use tempfile::TempDir;

use crate::common::{LEASE, address, is_there, options};

/// A database that is its own authority, and the address by which it is known.
struct Encrypted {
    cluster: Cluster,
    authority: String,
    files: TempDir,
}

impl Encrypted {
    /// Its certificate is for this name, or else for its address.
    fn named(name: Option<&str>) -> Self {
        let at = Cluster::own_loopback().to_string();
        let name = name.map_or(at, str::to_owned);
        let certified = rcgen::generate_simple_self_signed([name]).unwrap();
        Self::with(
            &certified.cert.pem(),
            &certified.signing_key.serialize_pem(),
        )
    }

    fn with(certificate: &str, key: &str) -> Self {
        let mut cluster = Cluster::start();
        let authority = cluster.listen_with_tls(certificate, key).to_string();
        let files = tempfile::tempdir().unwrap();
        fs::write(files.path().join("own.pem"), certificate).unwrap();
        let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
        fs::write(files.path().join("other.pem"), other.cert.pem()).unwrap();
        Self {
            cluster,
            authority,
            files,
        }
    }

    fn opened(&self, parameters: &str) -> Result<PostgresStore, PostgresError> {
        self.opened_by("postgres", parameters)
    }

    fn opened_by(&self, user: &str, parameters: &str) -> Result<PostgresStore, PostgresError> {
        let (authority, files) = (&self.authority, self.files.path().display());
        let parameters = parameters.replace("FILES", &files.to_string());
        let url = format!("postgres://{user}@{authority}/postgres?schema=house&{parameters}");
        let dir = tempfile::tempdir().unwrap();
        PostgresStore::open(&address(&url), options(&dir, LEASE, &Opening::default()))
    }
}

#[test]
fn a_certificate_that_is_trusted_lets_a_host_work() {
    if !is_there() {
        return;
    }
    let database = Encrypted::named(None);
    for mode in ["require", "verify-ca", "verify-full"] {
        let opened = database.opened(&format!("sslmode={mode}&sslrootcert=FILES/own.pem"));
        let mut store = opened.unwrap();
        store.begin().unwrap();
        Box::new(store).close().unwrap();
    }
}

#[test]
fn a_certificate_of_somebody_else_is_refused_and_the_message_says_what_to_do() {
    if !is_there() {
        return;
    }
    let database = Encrypted::named(None);
    // The system does not know it either.
    for roots in ["&sslrootcert=FILES/other.pem", ""] {
        for mode in ["require", "verify-full"] {
            let refused = database.opened(&format!("sslmode={mode}{roots}"));
            let said = refused.unwrap_err().to_string();
            assert!(
                said.contains("certificate") && said.contains("sslrootcert"),
                "{said}"
            );
        }
    }
}

#[test]
fn the_certificate_of_an_authority_is_refused_and_the_message_says_how_to_make_another() {
    if !is_there() {
        return;
    }
    let mut parameters =
        rcgen::CertificateParams::new([Cluster::own_loopback().to_string()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let database = Encrypted::with(&certificate.pem(), &key.serialize_pem());
    let refused = database.opened("sslmode=require&sslrootcert=FILES/own.pem");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("CA:FALSE"), "{said}");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    if !is_there() {
        return;
    }
    let database = Encrypted::named(Some("db.example"));
    let refused = database.opened("sslmode=require&sslrootcert=FILES/own.pem");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("db.example"), "{said}");
}

#[test]
fn a_database_that_wants_encryption_is_not_talked_to_without() {
    if !is_there() {
        return;
    }
    let database = Encrypted::named(None);
    let said = database.opened("sslmode=disable").unwrap_err().to_string();
    assert!(said.contains("no encryption"), "{said}");
}

#[test]
fn a_password_is_bound_to_the_certificate_where_that_is_asked_for() {
    if !is_there() {
        return;
    }
    let database = Encrypted::named(None);
    database.cluster.want_password("s3cret");
    for binding in ["disable", "prefer", "require"] {
        let parameters = format!("channel_binding={binding}&sslrootcert=FILES/own.pem");
        let opened =
            database.opened_by("postgres:s3cret", &format!("{parameters}&sslmode=require"));
        Box::new(opened.unwrap()).close().unwrap();
        let refused =
            database.opened_by("postgres:wrong", &format!("{parameters}&sslmode=require"));
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("password authentication failed"), "{said}");
    }
    let refused = database.opened("sslmode=require&sslrootcert=FILES/own.pem");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains(".pgpass"), "{said}");
}
