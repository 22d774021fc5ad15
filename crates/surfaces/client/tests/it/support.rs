//! One helper that knows servers: one in a folder of its own that can be restarted on its port, and a proxy before it
//! that cuts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use threadkeep_client::{At, Client, Key, Settings};
use threadkeep_server::Start;
use tokio::sync::oneshot;

/// How long anything may take before a test gives up on it.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A server on a port of its own, and the folder of its store.
pub struct Server {
    folder: Arc<tempfile::TempDir>,
    address: SocketAddr,
    key: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Self {
        Self::on(Arc::new(tempfile::tempdir().expect("a folder")), ([127, 0, 0, 1], 0).into(), Duration::from_secs(15))
    }

    /// One that says that it is still there so often.
    pub fn with_heartbeat(heartbeat: Duration) -> Self {
        Self::on(Arc::new(tempfile::tempdir().expect("a folder")), ([127, 0, 0, 1], 0).into(), heartbeat)
    }

    fn on(folder: Arc<tempfile::TempDir>, listen: SocketAddr, heartbeat: Duration) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = folder.path().to_owned();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let engine = threadkeep::open(&store(&path)).expect("a store");
                let mut start = Start::new(engine, path);
                start.listen = Some(listen);
                (start.settings.heartbeat, start.settings.log) = (heartbeat, false);
                start.settings.recheck = Duration::from_millis(100);
                start.connections.drain = Duration::from_millis(500);
                let started = start.begin().await.expect("a server");
                let key = started.local_key().expect("a local key").to_owned();
                ready.send((started.url().to_owned(), key)).expect("the test waits");
                started.run(async { drop(stopped.await) }).await;
            });
        });
        let (url, key) = is_ready.recv_timeout(DEADLINE).expect("a server that starts");
        let address = url.strip_prefix("http://").and_then(|address| address.parse().ok()).expect("an address");
        Self { folder, address, key, stop: Some(stop), thread: Some(thread) }
    }

    /// Stops it, and waits until it is gone.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }

    /// A new server on the same data and the same port. The local key is another one.
    pub fn restarted(mut self) -> Self {
        self.stop();
        Self::on(Arc::clone(&self.folder), self.address, Duration::from_secs(15))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn key(&self) -> Key {
        Key::new(&self.key)
    }

    pub fn secret(&self) -> &str {
        &self.key
    }

    /// A client with the local key.
    pub fn client(&self) -> Client {
        Client::connect(&self.url(), self.key()).expect("a client")
    }

    /// The secret of a new key, which outlives the server.
    pub async fn made_key(&self, scope: &str) -> Key {
        let new = serde_json::json!({ "account": "ann", "scope": scope });
        let new: threadkeep_client::calls::CreateKey = serde_json::from_value(new).expect("a key");
        Key::new(self.client().call(At::none(), new).await.expect("a key").key)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn store(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("threadkeep.db").display())
}

/// A proxy that passes bytes on in both directions, and cuts connections.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: SocketAddr,
    /// Whether connections are cut after some bytes.
    flaky: AtomicBool,
    /// Whether bytes of the server are kept back.
    silent: AtomicBool,
    /// Cuts all that are open when it moves.
    generation: AtomicU64,
    cuts: AtomicU64,
    chance: AtomicU64,
}

impl Proxy {
    pub fn before(server: &Server, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            to: server.address(),
            flaky: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
            chance: AtomicU64::new(seed),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                accepting.pass(client);
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn client(&self, key: Key, settings: Settings) -> Client {
        Client::connect_with(&self.url(), key, settings).expect("a client")
    }

    /// From now on, each connection is cut after some bytes.
    pub fn be_flaky(&self, flaky: bool) {
        self.shared.flaky.store(flaky, Ordering::SeqCst);
    }

    /// Nothing of the server comes through any more, and the client gets no error.
    pub fn be_silent(&self, silent: bool) {
        self.shared.silent.store(silent, Ordering::SeqCst);
    }

    pub fn cut(&self) {
        self.shared.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// How many connections were cut after some bytes.
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }
}

impl Shared {
    /// A number below `end`.
    fn below(&self, end: u64) -> u64 {
        // SplitMix64.
        let mut mixed = self.chance.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn pass(self: &Arc<Self>, client: TcpStream) {
        let Ok(server) = TcpStream::connect(self.to) else { return };
        let is_cut = self.flaky.load(Ordering::SeqCst);
        // Bytes in both directions together: some connections break in the request, some in the answer.
        let left = Arc::new(AtomicU64::new(if is_cut { self.below(3_000) } else { u64::MAX }));
        for (from, to, is_server) in [(&client, &server, false), (&server, &client, true)] {
            let (from, to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
            let (shared, left) = (Arc::clone(self), Arc::clone(&left));
            std::thread::spawn(move || shared.pump(from, to, &left, is_server));
        }
    }

    fn pump(&self, mut from: TcpStream, mut to: TcpStream, left: &AtomicU64, is_server: bool) {
        let generation = self.generation.load(Ordering::SeqCst);
        from.set_read_timeout(Some(Duration::from_millis(5))).expect("a timeout");
        let mut buffer = [0; 64];
        loop {
            if self.generation.load(Ordering::SeqCst) != generation {
                break;
            }
            let bytes = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => bytes,
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                    continue;
                }
                Err(_) => break,
            };
            let before = left.load(Ordering::SeqCst);
            if before != u64::MAX && before < bytes as u64 {
                drop(to.write_all(&buffer[..before as usize]));
                self.cuts.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if before != u64::MAX {
                left.fetch_sub(bytes as u64, Ordering::SeqCst);
            }
            if is_server && self.silent.load(Ordering::SeqCst) {
                continue;
            }
            if to.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        for socket in [from, to] {
            drop(socket.shutdown(Shutdown::Both));
        }
    }
}

pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async { tokio::time::timeout(DEADLINE, test).await.expect("in time") });
}
