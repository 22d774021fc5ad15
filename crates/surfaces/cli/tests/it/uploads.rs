//! Large files over HTTP: the server's memory does not grow with them, and an interrupted upload leaves nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::killed::answer;
use crate::serve::Serving;
use crate::support::{DEADLINE, Keep};

const PIECE_BYTES: usize = 1 << 20;
/// Pieces of the large file: 200 MiB.
const PIECES: usize = 200;
/// How far the most memory that the server ever had may grow with a large file, beyond what a small one took.
const GROWN_BYTES_MAX: u64 = 40 << 20;

/// Bytes that differ from piece to piece.
fn piece(n: usize) -> Vec<u8> {
    (0..PIECE_BYTES).map(|at| ((at / 64).wrapping_mul(n + 7) % 251) as u8).collect()
}

/// A request that was begun, with so many bytes to follow.
fn begun(serving: &Serving, method: &str, path: &str, headers: &str, bytes: usize) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(&serving.address).expect("a connection");
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let (address, key) = (&serving.address, serving.key());
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         {headers}Content-Length: {bytes}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).expect("it is sent");
    BufReader::new(socket)
}

fn upload(serving: &Serving, path: &str, pieces: usize) -> Value {
    let mut socket = begun(serving, "PUT", path, "", pieces * PIECE_BYTES);
    for n in 0..pieces {
        socket.get_mut().write_all(&piece(n)).expect("it is sent");
    }
    let (status, said) = answer(&mut socket).expect("an answer");
    assert_eq!(status, 201, "{said}");
    said
}

/// The answer to a request, after its head.
fn opened(serving: &Serving, path: &str, headers: &str, status: u16) -> BufReader<TcpStream> {
    let mut socket = begun(serving, "GET", path, headers, 0);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(socket.read_line(&mut head).expect("a head"), 0, "{head}");
    }
    assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
    socket
}

/// The most memory that a process ever had.
#[cfg(target_os = "linux")]
fn most_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1_024
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_takes_little_memory_and_reads_back_as_it_was() {
    let keep = Keep::new();
    let serving = Serving::start(&keep.at("data"));
    let files = format!("/v1/threads/{}/files", serving.thread());
    upload(&serving, &format!("{files}/small.bin"), 4);
    let process = serving.running.child.id();
    let before = most_memory(process);
    let path = format!("{files}/large.bin");
    let written = upload(&serving, &path, PIECES);
    let grown = most_memory(process) - before;
    assert!(grown < GROWN_BYTES_MAX, "the server needed {grown} bytes more for {PIECES} MiB");
    assert_eq!(written["size"], PIECES * PIECE_BYTES);
    assert_eq!(written["mimeType"], "application/octet-stream");
    let mut whole = opened(&serving, &path, "", 200);
    let mut bytes = vec![0; PIECE_BYTES];
    for n in 0..PIECES {
        whole.read_exact(&mut bytes).expect("a piece");
        assert!(bytes == piece(n), "piece {n} is as it was sent");
    }
    assert_eq!(whole.read(&mut bytes).expect("the end"), 0);
    // Across the ends of pieces, of parts and of chunks.
    for from in [PIECE_BYTES - 5, 77 * PIECE_BYTES - 5, 100 * PIECE_BYTES + 262_139] {
        let mut part = Vec::new();
        let range = format!("Range: bytes={from}-{}\r\n", from + 9);
        opened(&serving, &path, &range, 206).read_to_end(&mut part).expect("a part");
        let sent = (from..from + 10).map(|at| piece(at / PIECE_BYTES)[at % PIECE_BYTES]);
        assert_eq!(part, sent.collect::<Vec<u8>>(), "from {from}");
    }
}

#[test]
fn an_upload_that_is_cut_leaves_nothing_to_see() {
    let keep = Keep::new();
    let folder = keep.at("data");
    let mut serving = Serving::start(&folder);
    let files = format!("/v1/threads/{}/files", serving.thread());
    let path = format!("{files}/cut.bin");
    let half = |serving: &Serving| {
        let mut socket = begun(serving, "PUT", &path, "", 8 * PIECE_BYTES);
        (0..5).for_each(|n| socket.get_mut().write_all(&piece(n)).expect("it is sent"));
        socket
    };
    let nothing = |serving: &Serving| {
        drop(opened(serving, &path, "", 404));
        let page = serving.ok("GET", &files, &Value::Null);
        assert_eq!(page["items"], serde_json::json!([]), "{page}");
    };
    drop(half(&serving));
    nothing(&serving);
    // The server goes while something is sent to it.
    let under_way = half(&serving);
    serving.running.kill();
    drop(under_way);
    let serving = Serving::start(&folder);
    nothing(&serving);
    upload(&serving, &path, 8);
    let mut whole = Vec::new();
    opened(&serving, &path, "", 200).read_to_end(&mut whole).expect("the file");
    assert!(whole == (0..8).flat_map(piece).collect::<Vec<u8>>(), "it is as it was sent");
}
