//! Packages of npm.
//!
//! Scripts of packages are not run: the agents that are known work without
//! them, and scripts are how a package harms whoever only installs it. Where a
//! row needs the package's own script, that one is run, after the package was
//! checked; those of its dependencies never are.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::commands::Commands;
use super::{InstallError, at};
use crate::registry::Package;

/// Installs a package and says where its program is, below the directory.
pub(super) async fn install(
    commands: &Commands<'_>,
    package: &Package,
    integrity: Option<&str>,
    scripts: bool,
    names: &[String],
) -> Result<PathBuf, InstallError> {
    let missing = InstallError::Missing {
        what: "npm (Node.js)",
    };
    let npm = commands.find("npm").ok_or(missing)?;
    let spec = package.spec();
    let wrong = |is: &str, should: &str| InstallError::WrongHash {
        spec: spec.clone(),
        is: is.to_owned(),
        should: should.to_owned(),
    };
    commands.tell(&format!("asking npm about {spec}"));
    let told = commands
        .run(&npm, &["view", "--json", &spec, "dist.integrity"])
        .await?;
    let told: Value = serde_json::from_str(told.trim()).unwrap_or_default();
    let told = told.as_str().unwrap_or("unknown");
    if let Some(integrity) = integrity.filter(|integrity| *integrity != told) {
        return Err(wrong(told, integrity));
    }
    commands.tell(&format!("installing {spec}"));
    let prefix = commands.directory.to_string_lossy();
    let prefix = format!("--prefix={prefix}");
    let quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];
    let mut args = vec!["install", &prefix, "--global=false", "--ignore-scripts"];
    args.extend(["--package-lock=true", "--save-exact", "--omit=dev"]);
    args.extend(quiet);
    args.push(&spec);
    commands.run(&npm, &args).await?;
    commands.tell(&format!("checking {spec}"));
    let locked = locked_integrity(&commands.directory, &package.name)?;
    if locked != told {
        return Err(wrong(&locked, told));
    }
    if scripts {
        commands.tell(&format!("running the install script of {spec}"));
        let mut args = vec!["rebuild", &prefix, "--ignore-scripts=false"];
        args.extend(["--foreground-scripts", "--global=false"]);
        args.push(&package.name);
        commands.run(&npm, &args).await?;
    }
    program(&commands.directory, package, names).ok_or(InstallError::NoProgram(spec))
}

/// What stands in the lockfile of the package.
fn locked_integrity(directory: &Path, name: &str) -> Result<String, InstallError> {
    let path = directory.join("package-lock.json");
    let lock = fs::read(&path).map_err(at(&path))?;
    let lock: Value = serde_json::from_slice(&lock).unwrap_or_default();
    let package = &lock["packages"][format!("node_modules/{name}")];
    let integrity = package["integrity"].as_str();
    Ok(integrity.unwrap_or("missing from the lockfile").to_owned())
}

/// The program that one of these names has, or the only one of the package.
fn program(directory: &Path, package: &Package, names: &[String]) -> Option<PathBuf> {
    let own = fs::read(
        directory
            .join("node_modules")
            .join(&package.name)
            .join("package.json"),
    );
    let own: Value = serde_json::from_slice(&own.ok()?).ok()?;
    let bin = own["bin"].as_object();
    let only = bin
        .filter(|bin| bin.len() == 1)
        .and_then(|bin| bin.keys().next());
    let mut names = names.iter().chain(only);
    names.find_map(|name| {
        let program = Path::new("node_modules/.bin").join(name);
        crate::discovery::is_executable(&directory.join(&program)).then_some(program)
    })
}
