//! The documentation of the versions names them all.

use std::path::Path;

use innkeeper_protocol::version::Version;

#[test]
fn the_table_of_versions_is_complete() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/versions.md");
    let text = std::fs::read_to_string(path).unwrap();
    let header = text.lines().find(|line| line.starts_with("| |")).unwrap();
    let columns: Vec<&str> = header
        .split('|')
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let versions = Version::ALL.map(|version| match version {
        Version::V0_1 => "draft 1".to_owned(),
        other => other.to_string().trim_end_matches(".0").to_owned() + suffix(other),
    });
    assert_eq!(columns, versions);
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    for row in rows {
        let cells = row.trim_matches('|').split('|').count();
        assert_eq!(cells, columns.len() + 1, "{row}");
    }
}

/// `1.0.0` loses both its zeros.
fn suffix(version: Version) -> &'static str {
    match version {
        Version::V1_0 => ".0",
        _ => "",
    }
}
