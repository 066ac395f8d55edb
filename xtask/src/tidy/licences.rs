//! Whether we may use what we depend on: the licence that each package states,
//! against what `deny.toml` allows.
//!
//! This reads `[licenses]` in the sense of `cargo deny`, so that the answer is
//! there where that is not installed. Only `cargo deny` reads texts of licences:
//! those of packages that state none, and those that a clarification is tied to.

use anyhow::{Context as _, Result, anyhow};
use semver::{Version, VersionReq};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

/// What `cargo metadata` prints, as far as it matters here. Its packages are
/// the workspace's and all that those depend on, on any system, tests included.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    id: String,
    license: Option<String>,
    /// The registries that it may go to; nothing stands for all of them.
    publish: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct DenyFile {
    licenses: DenyLicenses,
}

#[derive(Deserialize)]
struct DenyLicenses {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<DenyException>,
    #[serde(default)]
    clarify: Vec<DenyClarification>,
    #[serde(default)]
    private: DenyPrivate,
}

#[derive(Deserialize)]
struct DenyException {
    #[serde(flatten)]
    of: DenyCrate,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct DenyClarification {
    #[serde(flatten)]
    of: DenyCrate,
    expression: String,
}

/// `crate = "name"`, `"name@version"` or `"name:requirement"`; formerly `name`
/// with a `version` next to it.
#[derive(Deserialize)]
struct DenyCrate {
    #[serde(rename = "crate", alias = "name")]
    name: String,
    version: Option<String>,
}

#[derive(Default, Deserialize)]
struct DenyPrivate {
    #[serde(default)]
    ignore: bool,
}

/// What `deny.toml` says about licences, understood.
struct Policy {
    allowed: Vec<Licensee>,
    exceptions: Vec<(Crates, Vec<Licensee>)>,
    clarified: Vec<(Crates, String)>,
    ignores_private: bool,
}

/// The versions of a crate that an entry is about.
struct Crates {
    name: String,
    versions: VersionReq,
}

/// The packages that may not be used, one line each; both arguments are texts.
pub(super) fn problems(metadata: &str, deny: &str) -> Vec<String> {
    refused(metadata, deny).unwrap_or_else(|error| vec![format!("deny.toml: {error:#}")])
}

fn refused(metadata: &str, deny: &str) -> Result<Vec<String>> {
    let policy = Policy::parse(deny)?;
    let metadata: Metadata =
        serde_json::from_str(metadata).context("cannot read what `cargo metadata` printed")?;
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let Package { name, version, .. } = package;
        if policy.ignores_private && metadata.is_private(package) {
            continue;
        }
        if let Some(reason) = policy.objection(package)? {
            problems.push(format!("deny.toml: {name} {version} {reason}"));
        }
    }
    Ok(problems)
}

impl Metadata {
    fn is_private(&self, package: &Package) -> bool {
        let unpublished = package.publish.as_ref().is_some_and(Vec::is_empty);
        unpublished && self.workspace_members.contains(&package.id)
    }
}

impl Policy {
    fn parse(text: &str) -> Result<Self> {
        let DenyFile { licenses } = toml::from_str(text)?;
        let exceptions = licenses.exceptions.into_iter();
        let clarified = licenses.clarify.into_iter();
        Ok(Self {
            allowed: licensees(&licenses.allow)?,
            exceptions: exceptions
                .map(|entry| Ok((Crates::parse(&entry.of)?, licensees(&entry.allow)?)))
                .collect::<Result<_>>()?,
            clarified: clarified
                .map(|entry| Ok((Crates::parse(&entry.of)?, entry.expression)))
                .collect::<Result<_>>()?,
            ignores_private: licenses.private.ignore,
        })
    }

    /// Why a package may not be used, and what to do.
    fn objection(&self, package: &Package) -> Result<Option<String>> {
        let Package { name, version, .. } = package;
        let version = Version::parse(version)
            .with_context(|| format!("{name} has the version `{version}`"))?;
        let is_meant = |crates: &Crates| crates.contain(name, &version);
        let clarified = self.clarified.iter().find(|(crates, _)| is_meant(crates));
        let stated = clarified.map(|(_, expression)| expression);
        let Some(stated) = stated.or(package.license.as_ref()) else {
            return Ok(Some(
                "states no licence; read its files and add what they say to `clarify`, or do without it".to_owned(),
            ));
        };
        let expression = match Expression::parse_mode(stated, ParseMode::LAX) {
            Ok(expression) => expression,
            Err(error) => {
                return Ok(Some(format!(
                    "states the licence `{stated}`, which is no SPDX expression ({}); add a right one to `clarify`, or do without it",
                    error.reason
                )));
            }
        };
        let excepted = self.exceptions.iter();
        let excepted = excepted.filter(|(crates, _)| is_meant(crates));
        let allowed: Vec<&Licensee> = excepted
            .flat_map(|(_, allowed)| allowed)
            .chain(&self.allowed)
            .collect();
        let outcome = expression
            .evaluate_with_failures(|wanted| allowed.iter().any(|one| one.satisfies(wanted)));
        Ok(outcome.err().map(|missing| {
            let missing: Vec<_> = missing.iter().map(|one| format!("`{}`", one.req)).collect();
            format!(
                "is under `{stated}`, of which {} is not allowed; do without it, or add the licence to `exceptions` for this crate or to `allow` for all, with the reason",
                missing.join(", ")
            )
        }))
    }
}

impl Crates {
    fn parse(entry: &DenyCrate) -> Result<Self> {
        let DenyCrate { name, version } = entry;
        let (name, versions) = if let Some((name, version)) = name.split_once('@') {
            (name, Some(format!("={version}")))
        } else if let Some((name, requirement)) = name.split_once(':') {
            (name, Some(requirement.to_owned()))
        } else {
            (name.as_str(), version.clone())
        };
        let versions = versions.unwrap_or_else(|| "*".to_owned());
        Ok(Self {
            name: name.to_owned(),
            versions: VersionReq::parse(&versions)
                .with_context(|| format!("`{versions}` is not a version of {name}"))?,
        })
    }

    fn contain(&self, name: &str, version: &Version) -> bool {
        // `*` leaves out what comes before a release; an entry without a
        // version does not.
        let any = self.versions == VersionReq::STAR;
        self.name == name && (any || self.versions.matches(version))
    }
}

fn licensees(names: &[String]) -> Result<Vec<Licensee>> {
    let parse = |name: &String| {
        Licensee::parse(name).map_err(|error| anyhow!("`{name}` in `allow`: {}", error.reason))
    };
    names.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = r#"
        [licenses]
        allow = ["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "MIT", "MPL-2.0"]
        exceptions = [
            { allow = ["CC0-1.0"], crate = "watcher" },
            { allow = ["Zlib", "ISC"], crate = "exact@1.2" },
            { allow = ["Zlib"], crate = "range:>=2, <4" },
            { allow = ["Zlib"], name = "former", version = "0.3" },
        ]
        [[licenses.clarify]]
        crate = "silent"
        expression = "MIT AND BSD-3-Clause"
        license-files = [{ path = "LICENSE", hash = 0xbd0eed23 }]
        [[licenses.clarify]]
        crate = "muddled@1"
        expression = "GPL-3.0-only"
        license-files = []
        [licenses.private]
        ignore = true
    "#;

    fn package(name: &str, version: &str, license: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            id: format!("registry#{name}@{version}"),
            license: license.map(str::to_owned),
            publish: None,
        }
    }

    fn objection(name: &str, version: &str, license: Option<&str>) -> Option<String> {
        let policy = Policy::parse(DENY).unwrap();
        policy.objection(&package(name, version, license)).unwrap()
    }

    #[test]
    fn an_expression_is_allowed_if_enough_of_it_is() {
        let cases = [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only OR MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("MIT AND BSD-3-Clause", true),
            ("MIT AND Apache-2.0 OR GPL-3.0-only", true),
            ("(MIT OR GPL-3.0-only) AND Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0-only", false),
            ("MIT OR (Apache-2.0 AND GPL-3.0-only)", true),
            ("MIT/GPL-3.0-only", true),
            ("Zlib / ISC", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("GPL-2.0-only WITH Classpath-exception-2.0", false),
            ("Apache-2.0+", true),
            ("MPL-1.1+", true),
            ("MPL-1.1", false),
            ("GPL-2.0+ OR MIT", true),
            ("LicenseRef-Ours", false),
        ];
        for (expression, allowed) in cases {
            let objection = objection("any", "1.0.0", Some(expression));
            assert_eq!(objection.is_none(), allowed, "{expression}: {objection:?}");
        }
    }

    #[test]
    fn exceptions_and_clarifications_are_for_the_crates_they_name() {
        let cases = [
            ("watcher", "8.2.0", Some("CC0-1.0"), true),
            ("watcher", "9.0.0-rc.1", Some("CC0-1.0"), true),
            ("watcher", "8.2.0", Some("CC0-1.0 AND MIT"), true),
            ("watcher", "8.2.0", Some("CC0-1.0 AND Zlib"), false),
            ("watcher-types", "8.2.0", Some("CC0-1.0"), false),
            ("exact", "1.2.7", Some("Zlib AND ISC"), true),
            ("exact", "1.3.0", Some("Zlib AND ISC"), false),
            ("range", "1.9.0", Some("Zlib"), false),
            ("range", "3.1.0", Some("Zlib"), true),
            ("range", "4.0.0", Some("Zlib"), false),
            ("former", "0.3.9", Some("Zlib"), true),
            ("former", "0.4.0", Some("Zlib"), false),
            ("silent", "1.0.0", None, true),
            ("muddled", "1.0.0", Some("MIT"), false),
            ("muddled", "2.0.0", Some("MIT"), true),
        ];
        for (name, version, license, allowed) in cases {
            let objection = objection(name, version, license);
            assert_eq!(objection.is_none(), allowed, "{name} {version}");
        }
    }

    #[test]
    fn an_objection_names_what_is_wrong_and_what_to_do() {
        let cases = [
            (
                Some("(MIT OR ISC) AND Zlib"),
                "`ISC`, `Zlib` is not allowed",
                "`exceptions`",
            ),
            (Some("See the file"), "no SPDX expression", "`clarify`"),
            (Some("(MIT"), "unclosed parens", "`clarify`"),
            (None, "states no licence", "`clarify`"),
        ];
        for (license, wrong, remedy) in cases {
            let said = objection("any", "1.0.0", license).unwrap();
            assert!(said.contains(wrong) && said.contains(remedy), "{said}");
        }
    }

    #[test]
    fn packages_of_the_workspace_are_ours_unless_they_are_published() {
        let metadata = r#"{
            "packages": [
                {"name": "ours", "version": "0.1.0", "id": "path#ours", "license": null, "publish": [], "edition": "2024"},
                {"name": "shared", "version": "0.1.0", "id": "path#shared", "license": "Zlib", "publish": null},
                {"name": "watcher", "version": "8.2.0", "id": "registry#watcher", "license": "CC0-1.0", "publish": null},
                {"name": "vendored", "version": "1.0.0", "id": "path#vendored", "license": "ISC", "publish": []},
                {"name": "usual", "version": "1.4.2", "id": "registry#usual", "license": "MIT/Apache-2.0", "publish": null}
            ],
            "workspace_members": ["path#ours", "path#shared"],
            "version": 1
        }"#;
        let found = problems(metadata, DENY);
        let starts = ["deny.toml: shared 0.1.0 ", "deny.toml: vendored 1.0.0 "];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for (problem, start) in found.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
        let found = problems(metadata, "[licenses]\nallow = [\"MIT\"]");
        assert!(found[0].contains("ours 0.1.0 states no licence"));
    }

    #[test]
    fn what_cannot_be_read_is_a_problem() {
        let empty = r#"{"packages": [], "workspace_members": []}"#;
        let cases = [
            (empty, "licenses = 1", "licenses"),
            (empty, "[licenses]\nallow = [\"Beerware 2\"]", "Beerware 2"),
            (
                empty,
                "[[licenses.exceptions]]\nallow = []\ncrate = \"a@new\"",
                "version of a",
            ),
            ("{}", "[licenses]", "cargo metadata"),
        ];
        for (metadata, deny, expected) in cases {
            let found = problems(metadata, deny);
            assert_eq!(found.len(), 1);
            assert!(found[0].contains(expected), "{found:?}");
        }
    }

    #[test]
    fn the_deny_file_of_this_tree_can_be_read() {
        let deny = include_str!("../../../deny.toml");
        assert!(!Policy::parse(deny).unwrap().allowed.is_empty());
    }
}
