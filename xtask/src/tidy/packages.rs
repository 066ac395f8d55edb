//! Whether our own packages could be published: what a registry asks of a
//! manifest, from what `cargo metadata` prints.

use anyhow::{Context as _, Result};
use serde::Deserialize;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    id: String,
    description: Option<String>,
    license: Option<String>,
    readme: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    /// The registries that it may go to; nothing stands for all of them.
    publish: Option<Vec<String>>,
    dependencies: Vec<Dependency>,
}

impl Package {
    fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|to| !to.is_empty())
    }
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    /// Nothing for those that the package itself needs.
    kind: Option<String>,
    path: Option<String>,
}

/// The packages of the workspace that are published, by name.
pub(crate) fn published(metadata: &str) -> Result<Vec<String>> {
    let packages = of_workspace(metadata)?;
    let published = packages.into_iter().filter(Package::is_published);
    Ok(published.map(|package| package.name).collect())
}

pub(super) fn problems(metadata: &str) -> Result<Vec<String>> {
    let packages = of_workspace(metadata)?;
    let (published, others): (Vec<_>, Vec<_>) =
        packages.into_iter().partition(Package::is_published);
    let mut problems = Vec::new();
    for package in &published {
        let name = &package.name;
        let lacks = [
            ("description", package.description.is_none()),
            ("license", package.license.is_none()),
            ("readme", package.readme.is_none()),
            ("keywords", package.keywords.is_empty()),
            ("categories", package.categories.is_empty()),
        ];
        let lacks = lacks.iter().filter(|(_, lacks)| *lacks);
        problems.extend(lacks.map(|(key, _)| {
            format!("{name}: a package that is published needs `{key}` in its Cargo.toml")
        }));
        let ours = package.dependencies.iter().filter(|of| of.path.is_some());
        for dependency in ours.filter(|of| of.kind.as_deref() != Some("dev")) {
            let wanted = &dependency.name;
            if dependency.req == "*" {
                problems.push(format!(
                    "{name}: it depends on {wanted} without a version; add one in the Cargo.toml \
                     of the workspace"
                ));
            }
            if others.iter().any(|other| other.name == *wanted) {
                problems.push(format!(
                    "{name}: it is published and depends on {wanted}, which is not"
                ));
            }
        }
    }
    Ok(problems)
}

fn of_workspace(metadata: &str) -> Result<Vec<Package>> {
    let metadata: Metadata =
        serde_json::from_str(metadata).context("cannot read what `cargo metadata` printed")?;
    let members = metadata.workspace_members;
    let packages = metadata.packages.into_iter();
    Ok(packages.filter(|it| members.contains(&it.id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn package(name: &str, more: Value) -> Value {
        let mut package = json!({
            "name": name, "id": name, "description": "D", "license": "MIT", "readme": "R",
            "keywords": ["k"], "categories": ["c"], "publish": null, "dependencies": [],
        });
        for (key, value) in more.as_object().unwrap() {
            package[key] = value.clone();
        }
        package
    }

    fn check(packages: &[Value]) -> Vec<String> {
        let members: Vec<&Value> = packages.iter().map(|package| &package["id"]).collect();
        let metadata = json!({"packages": packages, "workspace_members": members});
        problems(&metadata.to_string()).unwrap()
    }

    fn on(name: &str, req: &str, kind: Option<&str>) -> Value {
        json!({"name": name, "req": req, "kind": kind, "path": "/somewhere"})
    }

    #[test]
    fn a_package_that_is_published_says_what_it_is() {
        assert!(check(&[package("a", json!({}))]).is_empty());
        let bare = json!({"description": null, "keywords": []});
        let problems = check(&[package("a", bare.clone())]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        let mut private = package("a", bare);
        private["publish"] = json!([]);
        assert!(check(&[private]).is_empty());
    }

    #[test]
    fn it_depends_on_versions_of_packages_that_are_published() {
        let private = package("p", json!({"publish": []}));
        for (dependency, expected) in [
            (on("b", "^0.1", None), 0),
            (on("b", "*", None), 1),
            (on("p", "^0.1", None), 1),
            (on("p", "*", Some("dev")), 0),
        ] {
            let one = package("a", json!({"dependencies": [dependency]}));
            let problems = check(&[one, private.clone()]);
            assert_eq!(problems.len(), expected, "{problems:?}");
        }
    }
}
