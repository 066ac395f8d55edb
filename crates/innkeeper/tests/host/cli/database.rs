//! Commands where sessions are kept in PostgreSQL.

use std::fs;
use std::io::Read as _;

use innkeeper_store_conformance::cluster::{Cluster, is_there};
use serde_json::Value;

use super::harness::Inn;

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
fn sessions_in_a_database_are_listed_shown_deleted_and_restored_while_no_host_runs() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let (inn, url) = (Inn::new(), cluster.address("house"));
    let call = |args: &[&str], code| {
        let args = [args, &["--store", &url]].concat();
        inn.call(&args).with(code).out
    };
    assert_eq!(call(&["sessions"], 0), "There are no sessions.\n");
    call(&["run", "remember the word heliotrope"], 0);
    inn.call(&["stop"]);
    let listed = call(&["sessions"], 0);
    let id = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert!(call(&["sessions", "show", id], 0).contains("heliotrope"));
    assert!(call(&["search", "heliotrope"], 0).contains(id));
    call(&["sessions", "delete", id], 0);
    assert_eq!(call(&["sessions"], 0), "There are no sessions.\n");
    call(&["sessions", "restore", id], 0);
    assert!(call(&["sessions"], 0).contains(id));
    // A data directory has another way.
    let refused = inn.call(&["gc", "--store", &url]).with(1).err;
    assert!(refused.contains("pg_dump"), "{refused}");
}

#[test]
fn doctor_looks_at_the_database_and_says_who_has_the_lease() {
    if !is_there() {
        return;
    }
    let mut cluster = Cluster::start();
    let inn = Inn::new();
    let url = cluster.address("house");
    let text = format!("[server]\nport = 0\n[store]\nurl = \"{url}\"\n");
    let file = inn.write("inn.toml", &text);
    let doctor = |code| {
        let args = ["doctor", "--config", file.to_str().unwrap()];
        inn.call(&args).with(code).out
    };
    let said = doctor(0);
    assert!(
        said.contains("ok        store: nothing in the database"),
        "{said}"
    );

    let host = inn.serve(&["--config", file.to_str().unwrap()]);
    let said = doctor(0);
    assert!(
        said.contains("ok        store: 0 sessions in the database"),
        "{said}"
    );
    assert!(said.contains("ok        lease: held"), "{said}");
    host.stop();
    let said = doctor(0);
    assert!(said.contains("ok        lease: free"), "{said}");

    cluster.sql("UPDATE house.lease SET version = 1000");
    let said = doctor(1);
    assert!(
        said.contains("problem   store: the database was written by a newer"),
        "{said}"
    );
    cluster.stop();
    let said = doctor(1);
    assert!(
        said.contains("problem   store: ") && said.contains("cannot be reached"),
        "{said}"
    );
}

#[test]
fn a_host_that_stands_by_says_so_and_learns_of_new_and_revoked_devices() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let (first, second) = (Inn::new(), Inn::new());
    let url = cluster.address("house");
    let flags = [
        "--store",
        &url,
        "--connection-token",
        "one-token-for-both-of-them",
    ];
    let owner = first.serve(&flags);
    let standby = second.serve(&flags);
    // A socket that was passed through shows that the owner has said where it is.
    drop(standby.upgraded("/?tkn=one-token-for-both-of-them", UPGRADE));
    let at = format!("http://{}/", owner.authority());
    let told = second.call(&["status"]).with(0).out;
    let says = format!("Standby:     another host on the same store works at {at}\n");
    assert!(
        told.contains(&says) && !told.contains("Sessions:"),
        "{told}"
    );
    let told: Value =
        serde_json::from_str(&second.call(&["status", "--json"]).with(0).out).unwrap();
    assert_eq!(
        (&told["standby"], &told["owner"]),
        (&true.into(), &at.into())
    );
    let added: Value = serde_json::from_str(
        &second
            .call(&["token", "add", "phone", "--json"])
            .with(0)
            .out,
    )
    .unwrap();
    // The owner has another list of devices, and the standby passes on what it
    // says.
    fs::copy(second.data("tokens.json"), first.data("tokens.json")).unwrap();
    first.call(&["token", "add", "other"]).with(0);
    let path = format!("/?tkn={}", added["token"].as_str().unwrap());
    let mut open = standby.upgraded(&path, UPGRADE);
    second.call(&["token", "revoke", "phone"]).with(0);
    let mut rest = Vec::new();
    open.read_to_end(&mut rest).unwrap();
    assert_eq!(standby.get(&path, UPGRADE).0, 401);
    standby.stop();
    owner.stop();
}

#[test]
fn the_password_of_the_store_is_shown_nowhere_and_refused_on_the_command_line() {
    if !is_there() {
        return;
    }
    const SECRET: &str = "hunter2";
    let cluster = Cluster::start();
    let inn = Inn::new();
    let url = cluster.address("house");
    let url = url.replacen("postgres@", &format!("postgres:{SECRET}@"), 1);
    let text = format!("[server]\nport = 0\n[store]\nurl = \"{url}\"\n");
    let file = inn.write("inn.toml", &text);
    let config = ["--config", file.to_str().unwrap()];

    let host = inn.serve(&[config.as_slice(), &["--log", "debug"]].concat());
    let id = host.running.0.id();
    let words = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap();
    let mut said = vec![words, fs::read_to_string(inn.data("host.json")).unwrap()];
    for command in [
        ["doctor"].as_slice(),
        &["sessions"],
        &["config", "check"],
        &["config", "show"],
        &["config", "show", "--json"],
    ] {
        let ended = inn.call(&[command, &config].concat()).with(0);
        said.extend([ended.out, ended.err]);
    }
    for command in [["status"].as_slice(), &["status", "--json"], &["logs"]] {
        let ended = inn.call(command).with(0);
        said.extend([ended.out, ended.err]);
    }
    host.stop();
    said.push(fs::read_to_string(inn.data("logs/innkeeper.log")).unwrap());
    for text in said {
        assert!(!text.contains(SECRET), "{text}");
    }

    let inside = url.split_once('@').unwrap().1;
    for given in [
        url.clone(),
        format!("postgres://postgres:{SECRET}/x@{inside}"),
        format!("postgres://postgres@{inside}&password={SECRET}"),
        format!("postgres://postgres@{inside}&p%61ssword={SECRET}"),
    ] {
        let directory = inn.path("data");
        let directory = directory.to_str().unwrap();
        for ended in [
            inn.call(&["sessions", "--store", &given]),
            inn.call(&["serve", "--port", "0", "--store", &given]),
            inn.call(&["up", "--store", &given]),
            inn.bare_call(&["migrate", "--from", directory, "--to", &given]),
        ] {
            let said = format!("{}{}", ended.out, ended.err);
            assert!(said.contains("command line"), "{said}");
            assert!(!said.contains(SECRET), "{said}");
        }
    }
}
