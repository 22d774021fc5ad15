//! The git that is installed, asked for its answer.

use std::path::Path;
use std::process::{Command, Output};

/// A git that reads no settings of whoever runs the tests. A missing git is a failure: there is nothing to compare with.
fn git(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder)
        .args(arguments)
        .output()
        .expect("git is installed")
}

fn lay(folder: &Path, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("a new folder can be written to");
    }
}

/// How many conflicts git finds (at most 127), and the merged bytes.
pub fn merge_file(folder: &Path, [base, ours, theirs]: &[Vec<u8>; 3], options: &[&str]) -> (i32, Vec<u8>) {
    lay(folder, &[("base", base), ("ours", ours), ("theirs", theirs)]);
    let mut arguments = vec!["merge-file", "-p", "-q"];
    arguments.extend(options);
    arguments.extend(["ours", "base", "theirs"]);
    let output = git(folder, &arguments);
    let code = output.status.code().expect("git was not killed");
    assert!((0..=127).contains(&code), "git refused to merge: {}", String::from_utf8_lossy(&output.stderr));
    (code, output.stdout)
}

/// What `git diff` prints below its head, without what it says after the second `@@`.
pub fn diff(folder: &Path, old: &[u8], new: &[u8], context: usize) -> Vec<u8> {
    lay(folder, &[("old", old), ("new", new)]);
    let context = format!("-U{context}");
    let arguments = ["diff", "--no-index", "--no-color", "--text", "--no-indent-heuristic", &context, "old", "new"];
    let output = git(folder, &arguments);
    let mut printed = Vec::new();
    let mut in_hunk = false;
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        in_hunk |= line.starts_with(b"@@ ");
        let end = line.windows(3).skip(3).position(|three| three == b" @@").filter(|_| line.starts_with(b"@@ "));
        match (in_hunk, end) {
            (false, _) => {}
            (true, None) => printed.extend_from_slice(line),
            (true, Some(end)) => {
                printed.extend_from_slice(&line[..end + 6]);
                printed.push(b'\n');
            }
        }
    }
    printed
}

/// Applies a difference to `file`, as `patch` does.
pub fn apply(folder: &Path, file: &str, difference: &str) {
    let output = Command::new("patch")
        .current_dir(folder)
        .args(["--binary", "--silent", "--no-backup-if-mismatch", file, difference])
        .output()
        .expect("patch is installed");
    assert!(output.status.success(), "patch refused: {}", String::from_utf8_lossy(&output.stdout));
}
