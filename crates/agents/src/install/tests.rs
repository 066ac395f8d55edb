//! Installations with stand-ins for installers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;
use crate::registry::Registry;

/// A data directory, and a directory of programs that stand in for installers.
struct Inn {
    home: tempfile::TempDir,
}

/// What npm says of the package that the row names.
const INTEGRITY: &str = "sha512-right";

const REGISTRY: &str = r#"{"agents": [
    {"id": "noded", "name": "Noded", "version": "1.0.0", "description": "d",
     "distribution": {"npx": {"package": "@scope/noded@1.0.0", "args": ["acp"]}},
     "_meta": {"innkeeper": {"integrity": "sha512-right"}}},
    {"id": "scripted", "name": "Scripted", "version": "1.0.0", "description": "d",
     "distribution": {"npx": {"package": "@scope/noded@1.0.0"}},
     "_meta": {"innkeeper": {"commands": ["noded"], "scripts": true}}},
    {"id": "snake", "name": "Snake", "version": "2.0.0", "description": "d",
     "distribution": {"uvx": {"package": "snake[acp]==2.0.0"}},
     "_meta": {"innkeeper": {"sha256":
        ["0000000000000000000000000000000000000000000000000000000000000000"]}}},
    {"id": "unpacked", "name": "Unpacked", "version": "1.0.0", "description": "d",
     "distribution": {"binary": {"linux-x86_64": {"archive": "https://a", "cmd": "./x"}}}}
]}"#;

/// Installs a package that has the integrity in the file `locked`, and begins
/// what the file `during` says.
const NPM: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/npm.calls"
case "$1" in
view) cat "$HOME/told" ;;
rebuild) echo ran > "$PWD/rebuilt" ;;
install)
  . "$HOME/during"
  mkdir -p node_modules/.bin node_modules/@scope/noded
  printf '#!/bin/sh\necho noded\n' > node_modules/.bin/noded
  chmod 755 node_modules/.bin/noded
  echo '{"bin": {"noded": "x"}}' > node_modules/@scope/noded/package.json
  printf '{"packages": {"node_modules/@scope/noded": {"integrity": "%s"}}}' \
    "$(cat "$HOME/locked")" > package-lock.json ;;
esac
"#;

/// An interpreter that makes environments of itself, with a pip.
const PYTHON: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/python.calls"
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip")
  bin=$(dirname "$0")
  printf '#!%s/python\n' "$bin" > "$bin/snake"
  chmod 755 "$bin/snake" ;;
esac
"#;

/// The same by another installer.
const UV: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/uv.calls"
case "$1" in
venv) mkdir -p "$3/bin" && printf '#!/bin/sh\n' > "$3/bin/python" ;;
pip)
  bin=$(dirname "$4")
  printf '#!%s/python\n' "$bin" > "$bin/snake"
  chmod 755 "$bin/snake" ;;
esac
"#;

impl Inn {
    fn with(programs: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let inn = Self { home };
        std::fs::create_dir(inn.at("bin")).unwrap();
        for (name, text) in programs {
            let path = inn.at("bin").join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        inn.write("told", &format!("\"{INTEGRITY}\""));
        inn.write("locked", INTEGRITY);
        inn.write("during", "");
        inn
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    fn calls(&self, of: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.at(&format!("{of}.calls")));
        let text = text.unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn installed(&self) -> Installed {
        Installed::in_data(self.home.path())
    }

    async fn install(&self, id: &str, version: Option<&str>) -> Result<Done, InstallError> {
        self.install_telling(id, version, &|_| ()).await
    }

    async fn install_telling(
        &self,
        id: &str,
        version: Option<&str>,
        tell: &Tell,
    ) -> Result<Done, InstallError> {
        self.write("registry.json", REGISTRY);
        let registry = Registry::with_file(&self.at("registry.json"));
        assert_eq!(registry.troubles(), [""; 0]);
        let row = registry.row(id).unwrap();
        let path = std::env::join_paths([self.at("bin"), "/bin".into()]).unwrap();
        let home = self.home.path().as_os_str().to_owned();
        let variables = Variables::from([("HOME".into(), home), ("PATH".into(), path)]);
        // Only what stands in for an installer is found.
        let path = self.at("bin").into_os_string();
        install_with(row, version, &self.installed(), (path, variables), tell).await
    }

    /// Everything below the directory of installed agents, but locks and marks.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.at("agents/installed"));
        let names = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|name| !name.starts_with(".lock-") && name != ".changed")
            .collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn a_package_of_npm_is_installed_and_found() {
    let inn = Inn::with(&[("npm", NPM)]);
    let done = inn.install("noded", None).await.unwrap();
    let version = "1.0.0".to_owned();
    assert_eq!(
        done,
        Done::Installed {
            version: version.clone()
        }
    );
    let place = inn.at("agents/installed/noded/1.0.0");
    let program = inn.installed().program("noded").unwrap();
    assert_eq!(program, place.join("node_modules/.bin/noded"));
    let mode = std::fs::metadata(&place).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(inn.names(), ["noded"]);
    let calls = inn.calls("npm");
    assert_eq!(calls.len(), 2);
    assert!(calls[1].contains("--ignore-scripts"), "{calls:?}");
    assert!(calls[1].ends_with(" @scope/noded@1.0.0"), "{calls:?}");
    // The same again does nothing.
    let again = inn.install("noded", None).await.unwrap();
    assert_eq!(again, Done::AlreadyThere { version });
    assert_eq!(inn.calls("npm").len(), 2);
}

#[tokio::test]
async fn the_script_of_a_package_is_run_only_where_its_row_needs_it() {
    let inn = Inn::with(&[("npm", NPM)]);
    inn.install("noded", None).await.unwrap();
    inn.install("scripted", None).await.unwrap();
    assert!(!inn.at("agents/installed/noded/1.0.0/rebuilt").exists());
    assert!(inn.at("agents/installed/scripted/1.0.0/rebuilt").exists());
}

#[tokio::test]
async fn an_upgrade_replaces_and_keeps_what_may_be_running() {
    let inn = Inn::with(&[("npm", NPM)]);
    inn.write("told", "\"sha512-right\"");
    for version in [None, Some("1.1.0"), Some("1.2.0")] {
        inn.install("noded", version).await.unwrap();
    }
    assert_eq!(inn.installed().version("noded").as_deref(), Some("1.2.0"));
    let kept = |version| inn.at("agents/installed/noded").join(version).exists();
    assert_eq!(["1.0.0", "1.1.0", "1.2.0"].map(kept), [false, true, true]);
    let registry = Registry::with_file(&inn.at("registry.json"));
    let row = registry.row("noded").unwrap();
    assert!(uninstall(row, &inn.installed(), &|_| ()).await.unwrap());
    assert_eq!(inn.installed().program("noded"), None);
    assert_eq!(inn.names(), [""; 0]);
    assert!(!uninstall(row, &inn.installed(), &|_| ()).await.unwrap());
}

#[tokio::test]
async fn a_package_of_pypi_works_where_it_was_moved_to() {
    let cases = [("python3", PYTHON, "python"), ("uv", UV, "uv")];
    for (name, program, calls) in cases {
        let inn = Inn::with(&[(name, program)]);
        inn.install("snake", None).await.unwrap();
        let venv = inn.at("agents/installed/snake/2.0.0/venv/bin");
        let script = std::fs::read_to_string(venv.join("snake")).unwrap();
        assert_eq!(script, format!("#!{}/python\n", venv.display()));
        assert_eq!(inn.installed().program("snake"), Some(venv.join("snake")));
        let calls = inn.calls(calls);
        let [hashed, all] = &calls[calls.len() - 2..] else {
            panic!("{calls:?}");
        };
        assert!(
            hashed.contains("--require-hashes --no-deps -r "),
            "{hashed}"
        );
        assert!(all.ends_with(" snake[acp]==2.0.0"), "{all}");
    }
}

/// An agent, the programs that there are, the wanted version, a file of the
/// home and what it holds, and how the error begins.
type Case<'a> = (
    &'a str,
    &'a [(&'a str, &'a str)],
    Option<&'a str>,
    (&'a str, &'a str),
    &'a str,
);

#[tokio::test]
async fn what_is_missing_or_wrong_is_said_and_leaves_nothing_behind() {
    let cases: [Case; 9] = [
        ("noded", &[], None, ("x", ""), "npm (Node.js) is needed"),
        (
            "snake",
            &[("npm", NPM)],
            None,
            ("x", ""),
            "uv or Python 3 is needed",
        ),
        (
            "unpacked",
            &[("npm", NPM)],
            None,
            ("x", ""),
            "comes in no package",
        ),
        (
            "noded",
            &[("npm", NPM)],
            Some("latest"),
            ("x", ""),
            "not an exact version",
        ),
        (
            "noded",
            &[("npm", NPM)],
            Some("1/../../x"),
            ("x", ""),
            "not an exact version",
        ),
        (
            "noded",
            &[("npm", NPM)],
            None,
            ("told", "\"sha512-other\""),
            "should be sha512-right",
        ),
        (
            "noded",
            &[("npm", NPM)],
            None,
            ("locked", "sha512-evil"),
            "its hash is sha512-evil",
        ),
        (
            "noded",
            &[("npm", NPM)],
            None,
            ("during", "echo no space >&2; exit 7"),
            "7): no space",
        ),
        (
            "snake",
            &[("python3", "#!/bin/sh\nexit 3\n")],
            None,
            ("x", ""),
            "uv or Python 3",
        ),
    ];
    for (id, programs, version, (file, text), expected) in cases {
        let inn = Inn::with(programs);
        inn.write(file, text);
        let error = inn.install(id, version).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{id}: {error}");
        assert_eq!(inn.names(), [""; 0], "{id}: {error}");
        assert_eq!(inn.installed().program(id), None);
    }
}

#[tokio::test]
async fn an_installation_that_was_stopped_half_way_is_not_used_and_is_cleared_away() {
    let inn = Inn::with(&[("npm", NPM)]);
    // It says when it is in the middle, and stays there.
    inn.write("during", "mkdir -p node_modules; echo begun >&2; sleep 600");
    let (begun, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let tell = move |line: &str| {
        let _ = begun.send(line.to_owned());
    };
    tokio::select! {
        done = inn.install_telling("noded", None, &tell) => panic!("{done:?}"),
        () = async { while heard.recv().await.as_deref() != Some("begun") {} } => {}
    }
    assert_eq!(inn.installed().program("noded"), None);
    // What a host leaves that was killed itself.
    let left = inn.at("agents/installed/.new-noded.1.0.0-abcdef/node_modules");
    std::fs::create_dir_all(left).unwrap();
    let half = inn.at("agents/installed/noded/1.0.0/node_modules");
    std::fs::create_dir_all(half).unwrap();
    assert_eq!(inn.installed().program("noded"), None);
    inn.write("during", "");
    inn.install("noded", None).await.unwrap();
    assert_eq!(inn.names(), ["noded"]);
    assert!(inn.installed().program("noded").is_some());
}

#[tokio::test]
async fn two_installations_at_a_time_are_one() {
    let inn = Inn::with(&[("npm", NPM)]);
    let (one, two) = tokio::join!(inn.install("noded", None), inn.install("noded", None));
    let version = "1.0.0".to_owned();
    let (one, two) = (one.unwrap(), two.unwrap());
    let done = [
        Done::Installed {
            version: version.clone(),
        },
        Done::AlreadyThere { version },
    ];
    assert!(
        done.contains(&one) && done.contains(&two) && one != two,
        "{one:?} {two:?}"
    );
    assert_eq!(inn.calls("npm").len(), 2);
}

/// What pip says in an environment whose Python is too old for the package.
const OLD_PYTHON: &str = r#"#!/bin/sh
case "$1 $2" in
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip")
  echo "ERROR: Ignored the following versions that require a different python version: 1.0.0 Requires-Python >=3.10; 2.0.0 Requires-Python <3.15,>=3.12" >&2
  echo "ERROR: Could not find a version that satisfies the requirement snake[acp]==2.0.0 (from versions: 0.1.0)" >&2
  echo "ERROR: No matching distribution found for snake[acp]==2.0.0" >&2
  exit 1 ;;
esac
"#;

#[tokio::test]
async fn a_python_that_is_too_old_is_named_with_what_to_do() {
    let shim = "#!/bin/sh\necho 'python3.13: command not found' >&2\nexit 127\n";
    let inn = Inn::with(&[("python3", OLD_PYTHON), ("python3.13", shim)]);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = {
        let told = std::sync::Arc::clone(&told);
        move |line: &str| told.lock().unwrap().push(line.to_owned())
    };
    let error = inn.install_telling("snake", None, &tell).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "snake[acp]==2.0.0 needs Python <3.15,>=3.12, and none was found; install such a \
         Python, or uv, which can fetch one, and try again"
    );
    // Nor are people told what was asked of programs that lead nowhere.
    let told = told.lock().unwrap();
    assert!(
        !told.iter().any(|line| line.contains("command not found")),
        "{told:?}"
    );
    assert_eq!(inn.names(), [""; 0]);
}

#[tokio::test]
async fn an_interpreter_that_the_package_works_with_is_found_among_others() {
    // The first that is tried is not the right one.
    let inn = Inn::with(&[("python3.13", OLD_PYTHON), ("python3.12", PYTHON)]);
    inn.install("snake", None).await.unwrap();
    let calls = inn.calls("python");
    assert!(
        calls.iter().any(|call| call.starts_with("-m pip")),
        "{calls:?}"
    );
}

#[tokio::test]
async fn a_dependency_that_is_missing_is_not_taken_for_an_old_python() {
    let pip = OLD_PYTHON.replace(
        "No matching distribution found for snake[acp]==2.0.0",
        "No matching distribution found for scales==7.0.0",
    );
    let inn = Inn::with(&[("python3", &pip)]);
    let error = inn.install("snake", None).await.unwrap_err().to_string();
    assert!(error.starts_with("`pip install` failed"), "{error}");
    assert!(error.contains("scales==7.0.0"), "{error}");
    assert!(!error.contains("Requires-Python"), "{error}");
}

#[tokio::test]
async fn uv_is_asked_for_the_python_that_the_package_needs() {
    const UV_WITH_OLD: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/uv.calls"
case "$1 $3" in
"venv --clear") mkdir -p "$6/bin" && printf '#!/bin/sh\n' > "$6/bin/python" && touch "$HOME/newer" ;;
"venv "*) mkdir -p "$3/bin" && printf '#!/bin/sh\n' > "$3/bin/python" ;;
"pip "*)
  if ! test -e "$HOME/newer"; then
    echo "  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12,<3.15 and snake==2.0.0 depends on Python>=3.12,<3.15, we can conclude that snake==2.0.0 cannot be used." >&2
    exit 1
  fi
  bin=$(dirname "$4")
  printf '#!%s/python\n' "$bin" > "$bin/snake"
  chmod 755 "$bin/snake" ;;
esac
"#;
    let inn = Inn::with(&[("uv", UV_WITH_OLD)]);
    inn.install("snake", None).await.unwrap();
    let calls = inn.calls("uv");
    let venvs: Vec<_> = calls
        .iter()
        .filter(|call| call.starts_with("venv"))
        .collect();
    assert_eq!(venvs.len(), 2, "{calls:?}");
    assert!(
        venvs[1].contains("--clear --python >=3.12,<3.15 "),
        "{calls:?}"
    );
}
