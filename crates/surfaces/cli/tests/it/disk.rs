//! Files that are no store, folders that cannot be written, disks that are full or fail.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Keep, Running, run, threadkeep};

fn on(store: &Path, args: &[&str]) -> crate::support::Ran {
    let mut command = threadkeep();
    command.arg("--store").arg(store).args(args);
    run(command, b"")
}

/// Both reading and writing refuse the file and leave it as it is.
#[track_caller]
fn refused_as_store(path: &Path, words: &[&str]) {
    let before = std::fs::read(path).ok();
    for args in [&["list"][..], &["create", "x"], &["doctor"], &["import", "-"]] {
        on(path, args).refused(6, words);
        assert_eq!(std::fs::read(path).ok(), before, "{args:?} left the file alone");
    }
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let keep = Keep::new();
    let text = keep.at("notes.txt");
    std::fs::write(&text, "Dear diary, today I wrote a long enough entry. ".repeat(10)).expect("a file");
    refused_as_store(&text, &["notes.txt", "is not a Threadkeep store"]);
    let short = keep.at("short");
    std::fs::write(&short, "x").expect("a file");
    refused_as_store(&short, &["is not a Threadkeep store"]);
    refused_as_store(keep.folder(), &["it is a folder"]);
    // A database of another program: the same file with another application's mark.
    keep.create("Work");
    let foreign = keep.at("foreign.db");
    let mut bytes = std::fs::read(keep.store()).expect("a store");
    bytes[68..72].copy_from_slice(b"ELSE");
    std::fs::write(&foreign, &bytes).expect("a file");
    refused_as_store(&foreign, &["not a Threadkeep store"]);
}

#[test]
fn a_store_that_is_cut_off_is_refused_and_left_alone() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let lines: String = (0..2_000).map(|number| format!("{number} {}\n", "x".repeat(50))).collect();
    keep.run_with(&["say", &thread, "--lines"], lines.as_bytes()).ok();
    let whole = std::fs::read(keep.store()).expect("a store");
    assert!(whole.len() > 100_000);
    for length in [1, 50, 99, 100, 4_096, 8_192, whole.len() / 2, whole.len() - 1] {
        let cut = keep.at("cut.db");
        std::fs::write(&cut, &whole[..length]).expect("a file");
        refused_as_store(&cut, &["cannot open the store"]);
    }
    on(&keep.at("cut.db"), &["doctor"]).refused(6, &["cut off", "hint: restore a backup"]);
    let empty = keep.at("empty.db");
    std::fs::write(&empty, "").expect("a file");
    on(&empty, &["show", "x"]).refused(3, &["there is no store at"]);
    assert_eq!(std::fs::read(&empty).expect("a file"), b"");
}

#[test]
fn a_store_of_a_newer_program_is_refused_and_both_versions_are_named() {
    let keep = Keep::new();
    keep.create("Work");
    let mut bytes = std::fs::read(keep.store()).expect("a store");
    let known = u32::from_be_bytes(bytes[60..64].try_into().expect("four bytes"));
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    std::fs::write(keep.store(), &bytes).expect("a file");
    refused_as_store(keep.store(), &["version 99", &format!("up to {known}"), "hint: use the program version"]);
}

#[test]
fn damage_inside_the_file_is_told_and_never_a_crash() {
    let keep = Keep::new();
    let thread = keep.create("Work");
    let lines: String = (0..3_000).map(|number| format!("{number} {}\n", "x".repeat(50))).collect();
    keep.run_with(&["say", &thread, "--lines"], lines.as_bytes()).ok();
    let whole = std::fs::read(keep.store()).expect("a store");
    let page = 8_192;
    for damaged in 1..whole.len() / page {
        let mut bytes = whole.clone();
        bytes[damaged * page..(damaged + 1) * page].fill(0x5a);
        let path = keep.at("damaged.db");
        std::fs::write(&path, &bytes).expect("a file");
        for args in [&["doctor"][..], &["show", &thread, "--all"], &["export"], &["say", &thread, "x"]] {
            let ran = on(&path, args);
            assert!(!ran.stderr.contains("panicked"), "page {damaged}, {args:?}: {}", ran.stderr);
            assert!(ran.code.is_some(), "page {damaged}, {args:?} died: {}", ran.stderr);
            assert!(!ran.stderr.contains("not available"), "page {damaged}, {args:?}: {}", ran.stderr);
        }
        for side in ["damaged.db-wal", "damaged.db-shm"] {
            drop(std::fs::remove_file(keep.at(side)));
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    let keep = Keep::new();
    std::fs::write(keep.at("file"), "x").expect("a file");
    on(&keep.at("file/below/keep.db"), &["create", "x"])
        .refused(6, &["cannot open the store", "its folder cannot be made"]);
    on(&keep.at("file/keep.db"), &["show", "x"]).refused(6, &["its folder cannot be made"]);
    on(Path::new("/proc/keep.db"), &["create", "x"]).refused(6, &["cannot open the store /proc/keep.db"]);
    on(Path::new("/proc/below/keep.db"), &["create", "x"]).refused(6, &["its folder cannot be made"]);
}

/// A library that makes the disk fail: syncs while one file exists, writes while another one does.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int exists(const char *name) {
    const char *path = getenv(name);
    return path && access(path, F_OK) == 0;
}

static int is_full(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && exists("TEST_DISK_FULL");
}

int fsync(int fd) {
    if (exists("TEST_SYNC_FAILS")) { errno = EIO; return -1; }
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    if (exists("TEST_SYNC_FAILS")) { errno = EIO; return -1; }
    return syscall(SYS_fdatasync, fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return syscall(SYS_write, fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return syscall(SYS_pwrite64, fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    if (is_full(fd)) { errno = ENOSPC; return -1; }
    return syscall(SYS_pwrite64, fd, bytes, count, at);
}
"#;

/// A disk that can be made to fail.
struct Disk {
    keep: Keep,
    library: PathBuf,
}

impl Disk {
    fn new() -> Self {
        let keep = Keep::new();
        let (source, library) = (keep.at("shim.c"), keep.at("shim.so"));
        std::fs::write(&source, SHIM).expect("a file");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
        let built = built.expect("there is a C compiler, as for the rest of the build");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self { keep, library }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.keep.command(args);
        command
            .env("LD_PRELOAD", &self.library)
            .env("TEST_SYNC_FAILS", self.keep.at("sync-fails"))
            .env("TEST_DISK_FULL", self.keep.at("disk-full"));
        command
    }

    fn begin(&self, fault: &str) {
        std::fs::write(self.keep.at(fault), "").expect("a file");
    }

    fn end(&self, fault: &str) {
        std::fs::remove_file(self.keep.at(fault)).expect("a file");
    }
}

#[test]
fn a_write_whose_sync_failed_is_never_acknowledged_and_nothing_more_is_written() {
    let disk = Disk::new();
    let thread = disk.keep.create("Work");
    let mut writer = Running::start(disk.command(&["say", &thread, "--lines", "--json"]));
    let mut acknowledged = Vec::new();
    for number in 0..5 {
        writer.tell(&number.to_string());
        acknowledged.push(writer.next_json()["content"].as_str().expect("text").to_owned());
    }
    disk.begin("sync-fails");
    writer.tell("not confirmed");
    assert_eq!(writer.next_line(), None, "nothing is acknowledged any more");
    let (status, stderr) = writer.end();
    assert_eq!(status.code(), Some(6), "{stderr}");
    let error: serde_json::Value = serde_json::from_str(&stderr).expect("one line of JSON");
    assert_eq!(error["code"], "storage_failed");
    assert!(error["detail"].as_str().is_some_and(|detail| detail.contains("5 lines were kept")), "{error}");
    // As long as the disk fails, other processes do not write either.
    let refused = run(disk.command(&["say", &thread, "x"]), b"");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(6), ""), "{refused:?}");
    disk.end("sync-fails");

    let conversation = disk.keep.conversation(&thread);
    let kept: Vec<&str> = conversation.split(" | ").map(|said| said.trim_start_matches("user: ")).collect();
    assert_eq!(&kept[..5], acknowledged, "every acknowledged line is there");
    let unknown: Vec<&str> = kept[5..].iter().copied().filter(|text| !["not confirmed", "x"].contains(text)).collect();
    assert!(unknown.is_empty() && kept.len() <= 7, "{kept:?}");
    disk.keep.say(&thread, "after");
    disk.keep.ok(&["doctor"]);
}

#[test]
fn a_full_disk_refuses_the_write_and_changes_nothing() {
    let disk = Disk::new();
    let thread = disk.keep.create("Work");
    disk.keep.say(&thread, "before");
    let before = disk.keep.everything();
    let mut writer = Running::start(disk.command(&["say", &thread, "--lines"]));
    writer.tell("kept");
    writer.next_json();
    disk.begin("disk-full");
    writer.tell("refused");
    assert_eq!(writer.next_line(), None);
    let (status, stderr) = writer.end();
    assert_eq!(status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("error: line 2: the disk is full") && stderr.contains("hint: free some space"), "{stderr}");
    assert_eq!(stderr.matches("nothing was written").count(), 1, "{stderr}");
    for args in [&["say", &thread, "x"][..], &["fork", &thread], &["update", &thread, "--title", "x"]] {
        let refused = run(disk.command(args), b"");
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(6), ""), "{refused:?}");
        assert!(refused.stderr.contains("disk is full"), "{refused:?}");
    }
    disk.end("disk-full");
    assert_eq!(disk.keep.conversation(&thread), "user: before | user: kept");
    assert_ne!(disk.keep.everything(), before);
    disk.keep.say(&thread, "after");
    assert_eq!(disk.keep.conversation(&thread), "user: before | user: kept | user: after");
    disk.keep.ok(&["doctor"]);
}
