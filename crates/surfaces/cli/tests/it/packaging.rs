//! The scripts that make and install packages, as far as they run without a build for release.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, run};

const TARGETS: [&str; 4] =
    ["aarch64-apple-darwin", "x86_64-apple-darwin", "aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("a folder")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn the_scripts_are_clean() {
    let mut scripts: Vec<PathBuf> = vec![root().join("test"), root().join(".ci/run")];
    for folder in ["packaging", "packaging/debian", "packaging/npm", "packaging/pypi"] {
        let Ok(files) = fs::read_dir(root().join(folder)) else { continue };
        let files = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
        scripts.extend(files.filter(|path| read(path).starts_with("#!/bin/sh")));
    }
    assert!(scripts.len() > 8, "{scripts:?}");
    for script in &scripts {
        let mode = fs::metadata(script).expect("a file").permissions().mode();
        let is_for_dpkg = script.parent().is_some_and(|folder| folder.ends_with("debian"));
        assert!(is_for_dpkg || mode & 0o111 != 0, "{} cannot be executed", script.display());
    }
    let mut shellcheck = Command::new("shellcheck");
    shellcheck.current_dir(root()).arg("--external-sources").args(&scripts);
    assert_eq!(run(shellcheck, b"").ok(), "");
}

/// Kinds, probes and references of the Kubernetes example, as a parser of YAML reads them: Debian's package `python3-yaml`.
const KUBERNETES: &str = r#"
import yaml
parts = {part["kind"]: part for part in yaml.safe_load_all(open("packaging/kubernetes/threadkeep.yaml"))}
pod = parts["Deployment"]["spec"]["template"]["spec"]
server = pod["containers"][0]
assert parts["Deployment"]["spec"]["replicas"] == 2
for probe, path in ("liveness", "/healthz"), ("readiness", "/readyz"), ("startup", "/readyz"):
    assert server[probe + "Probe"]["httpGet"] == {"path": path, "port": "http"}, probe
mounted = [mount["name"] for part in pod["initContainers"] + pod["containers"] for mount in part["volumeMounts"]]
assert set(mounted) == {volume["name"] for volume in pod["volumes"]}, mounted
for part in server, parts["Job"]["spec"]["template"]["spec"]["containers"][0]:
    assert all("secretKeyRef" in variable["valueFrom"] for variable in part["env"]), "a secret is written down"
print(" ".join(sorted(parts)))
for name in sorted(parts["ConfigMap"]["data"]):
    print(name)
"#;

#[test]
fn the_example_for_kubernetes_is_whole_and_names_settings_that_exist() {
    let mut python = Command::new("python3");
    python.current_dir(root()).args(["-c", KUBERNETES]);
    let said = run(python, b"").ok();
    let (kinds, settings) = said.split_once('\n').expect("lines");
    assert_eq!(kinds, "ConfigMap Deployment Job PodDisruptionBudget Service");
    let mut help = crate::support::threadkeep();
    help.args(["config", "--json"]);
    let known = run(help, b"").ok().to_lowercase();
    for setting in settings.lines() {
        let name = setting.trim_start_matches("THREADKEEP_").to_lowercase();
        assert!(known.replace('-', "_").contains(&format!("\"{name}\"")), "there is no setting {setting}");
    }
}

#[test]
fn packages_have_the_version_of_the_binary() {
    let mut script = Command::new("sh");
    script.current_dir(root()).args(["-euc", ". packaging/common.sh; echo $version"]);
    assert_eq!(run(script, b"").ok(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_formula_has_the_checksum_of_each_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let version = env!("CARGO_PKG_VERSION");
    let sum = |digit: usize| digit.to_string().repeat(64);
    let line = |(n, target)| format!("{}  threadkeep-{version}-{target}.tar.gz\n", sum(n));
    let lines: Vec<String> = TARGETS.into_iter().enumerate().map(line).collect();
    let formula = |lines: &[String]| {
        fs::write(folder.path().join("SHA256SUMS"), lines.concat()).expect("a file");
        let mut command = Command::new(root().join("packaging/formula.sh"));
        command.env("THREADKEEP_PACKAGES", folder.path()).args(["https://keep.example/v1/", "https://keep.example"]);
        run(command, b"")
    };
    let made = formula(&lines).ok();
    assert!(!made.contains('@'), "something is left to fill in: {made}");
    for (n, target) in TARGETS.into_iter().enumerate() {
        let url = format!("url \"https://keep.example/v1/threadkeep-{version}-{target}.tar.gz\"\n");
        let (_, after) = made.split_once(&url).unwrap_or_else(|| panic!("{target} is missing: {made}"));
        assert!(after.trim_start().starts_with(&format!("sha256 \"{}\"\n", sum(n))), "{made}");
    }
    formula(&lines[1..]).refused(1, &["no checksum", TARGETS[0]]);
}

/// A folder behind an HTTP server, with archives that hold a script in place of the binary.
struct Release {
    folder: tempfile::TempDir,
    url: String,
}

impl Release {
    fn new(binary: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let at = folder.path().join("served");
        fs::create_dir(&at).expect("a folder");
        for target in TARGETS {
            let name = format!("threadkeep-9.8.7-{target}");
            let inside = folder.path().join(&name);
            fs::create_dir(&inside).expect("a folder");
            fs::write(inside.join("threadkeep"), format!("#!/bin/sh\n{binary}\n")).expect("a file");
            let pack = format!("tar -czf served/{name}.tar.gz {name}");
            assert!(Command::new("sh").current_dir(&folder).args(["-c", &pack]).status().expect("sh").success());
        }
        let mut sums = Command::new("sh");
        sums.current_dir(&at).args(["-c", "sha256sum *.tar.gz > SHA256SUMS"]);
        run(sums, b"").ok();
        std::thread::spawn(move || {
            // It ends with the process.
            for socket in listener.incoming().flatten() {
                drop(give(socket, &at));
            }
        });
        Self { folder, url }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn bin(&self) -> PathBuf {
        self.home().join(".local/bin")
    }

    fn sums(&self) -> PathBuf {
        self.folder.path().join("served/SHA256SUMS")
    }

    /// Runs the script as somebody with an empty home would.
    fn install(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("sh");
        command.arg(root().join("packaging/install.sh")).args(args);
        command.env_clear().env("PATH", std::env::var_os("PATH").expect("a PATH"));
        command.env("HOME", self.home()).current_dir(self.folder.path());
        run(command, b"")
    }
}

/// Answers one request for a file of `folder`.
fn give(mut socket: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(socket.try_clone()?).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let (status, body) = match fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    write!(socket, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    socket.write_all(&body)
}

#[test]
fn the_install_script_puts_the_binary_into_the_home_again_and_again() {
    let release = Release::new("echo threadkeep 9.8.7");
    for _ in 0..2 {
        let said = release.install(&["--from", &release.url]).ok();
        assert!(said.contains("installed threadkeep 9.8.7"), "{said}");
        assert!(said.contains("is not on your PATH"), "{said}");
        let installed: Vec<_> = fs::read_dir(release.bin()).expect("a folder").collect();
        assert_eq!(installed.len(), 1, "{installed:?}");
        let ran = run(Command::new(release.bin().join("threadkeep")), b"");
        assert_eq!(ran.ok(), "threadkeep 9.8.7");
    }
    let elsewhere = release.folder.path().join("else where");
    release.install(&["--from", &format!("{}/", release.url), "--to", elsewhere.to_str().expect("a name")]).ok();
    assert!(elsewhere.join("threadkeep").exists());
}

#[test]
fn the_install_script_leaves_everything_alone_if_something_is_wrong() {
    let release = Release::new("echo threadkeep 9.8.7");
    fs::create_dir_all(release.bin()).expect("a folder");
    let installed = release.bin().join("threadkeep");
    fs::write(&installed, "the old one").expect("a file");
    fs::set_permissions(&installed, Permissions::from_mode(0o755)).expect("a mode");
    let sums = read(release.sums());
    let refused = |sums: Option<String>, words: &[&str]| {
        match sums {
            Some(sums) => fs::write(release.sums(), sums).expect("a file"),
            None => fs::remove_file(release.sums()).expect("a file"),
        }
        let ran = release.install(&["--from", &release.url]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "'{word}' is not said: {ran:?}");
        }
        assert_eq!(read(&installed), "the old one");
        assert_eq!(fs::read_dir(release.bin()).expect("a folder").count(), 1);
    };
    let wrong: String = sums.lines().map(|line| format!("{}{}\n", "0".repeat(64), &line[64..])).collect();
    refused(Some(wrong), &["checksum", "is wrong", "Nothing was installed"]);
    refused(Some(sums.replace("9.8.7", "9.8.6")), &["cannot download", "threadkeep-9.8.6-"]);
    refused(Some(sums.replace("threadkeep-9", "../threadkeep-9")), &["has no build for"]);
    refused(Some(format!("{sums}{}", sums.replace("9.8.7", "9.8.6"))), &["several versions"]);
    refused(None, &["cannot download", "SHA256SUMS"]);
    release.install(&[]).refused(1, &["--from URL"]);
    release.install(&["--form", "x"]).refused(1, &["unknown argument: --form"]);

    let broken = Release::new("exit 1");
    let ran = broken.install(&["--from", &broken.url]);
    assert!(ran.code == Some(1) && ran.stderr.contains("does not run on this machine"), "{ran:?}");
    assert!(!broken.home().exists());
}
