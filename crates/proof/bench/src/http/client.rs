//! The load generator's side of HTTP/1.1: one connection, one request in flight, answers by length or in chunks.
//!
//! It is made for speed and for one server, and so it is no library: a request is bytes that were put together
//! before, an answer is its status and its body. An unexpected answer ends the run.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;

/// Bytes that are read at once, unless an answer is larger.
const READ_BYTES: usize = 16 << 10;

/// The server's address and the key.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
}

impl Target {
    /// The bytes of a request. `headers` are whole lines.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let Self { address, key } = self;
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n");
        request.push_str(headers);
        if !body.is_empty() {
            request.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        request.push_str(body);
        request.into_bytes()
    }

    /// A message to append. The text needs no escapes.
    pub(crate) fn append(&self, thread: &str, headers: &str, text: &str) -> Vec<u8> {
        let body = format!(r#"{{"role":"user","content":"{text}"}}"#);
        self.request("POST", &format!("/v1/threads/{thread}/messages"), headers, &body)
    }
}

/// One connection that is kept open.
pub(crate) struct Client {
    stream: TcpStream,
    /// Bytes that were read and not used yet are behind `used`.
    read: Vec<u8>,
    used: usize,
}

/// The head of an answer.
struct Head {
    status: u16,
    length: usize,
    is_chunked: bool,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(READ_BYTES), used: 0 })
    }

    /// Sends `request`, and gives the status and the body of the answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        let head = self.head().await?;
        if head.is_chunked {
            return Err("an answer in chunks was not expected here".into());
        }
        while self.read.len() < self.used + head.length {
            self.more().await?;
        }
        let body = &self.read[self.used..self.used + head.length];
        self.used += head.length;
        Ok((head.status, body))
    }

    /// The same, where only one status will do.
    pub(crate) async fn expect(&mut self, status: u16, request: &[u8]) -> Result<&[u8]> {
        let (answered, body) = self.ask(request).await?;
        if answered != status {
            return Err(format!("the server answered {answered}: {}", String::from_utf8_lossy(body)).into());
        }
        Ok(body)
    }

    /// Sends `request`, whose answer goes on; gives its status. [`Client::chunk`] gives the rest.
    pub(crate) async fn open(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.write_all(request).await?;
        Ok(self.head().await?.status)
    }

    /// Adds the next chunk of an answer to `to`; false at its end.
    pub(crate) async fn chunk(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        let end = self.find(b"\r\n").await?;
        let size = std::str::from_utf8(&self.read[self.used..end])?;
        let size = usize::from_str_radix(size.trim(), 16)?;
        let begin = end + 2;
        let end = begin + size + 2;
        // `find` gives a place behind `used`, and `more` moves both.
        let begin = begin - self.used;
        let end = end - self.used;
        while self.read.len() < self.used + end {
            self.more().await?;
        }
        to.extend_from_slice(&self.read[self.used + begin..self.used + end - 2]);
        self.used += end;
        Ok(size > 0)
    }

    async fn head(&mut self) -> Result<Head> {
        let end = self.find(b"\r\n\r\n").await?;
        let head = std::str::from_utf8(&self.read[self.used..end])?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| format!("no answer in HTTP: {head}"))?;
        let (mut length, mut is_chunked) = (0, false);
        for line in head.split("\r\n").skip(1) {
            match line.split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
                Some((name, value)) if name.eq_ignore_ascii_case("transfer-encoding") => {
                    is_chunked = value == "chunked"
                }
                _ => {}
            }
        }
        self.used = end + 4;
        Ok(Head { status, length, is_chunked })
    }

    /// Reads until `mark` is there; gives where it begins.
    async fn find(&mut self, mark: &[u8]) -> Result<usize> {
        loop {
            let found = self.read[self.used..].windows(mark.len()).position(|window| window == mark);
            match found {
                Some(at) => return Ok(self.used + at),
                None => self.more().await?,
            }
        }
    }

    async fn more(&mut self) -> Result<()> {
        if self.used > 0 {
            self.read.drain(..self.used);
            self.used = 0;
        }
        self.read.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err("the server hung up".into()),
            _ => Ok(()),
        }
    }
}
