//! An S3 service: `s3s` with its files in a folder, which checks signatures, and faults on demand.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::Body;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The bucket that the service has.
pub const BUCKET: &str = "keep";
/// The id of the only key, which is its `AWS_ACCESS_KEY_ID`.
pub const KEY_ID: &str = "ann";
/// The secret that belongs to this key.
pub const KEY_SECRET: &str = "hush";
/// How long a request waits where the service hangs: longer than any test.
const HUNG: Duration = Duration::from_secs(3_600);

/// A fault that the server plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every request is answered as it should be.
    None,
    /// Every request from the nth on fails, counted from now.
    FailsFrom(u64),
    /// No request is answered.
    Hangs,
}

/// A service on 127.0.0.1 that lives as long as this.
#[derive(Debug)]
pub struct S3 {
    _runtime: Runtime,
    port: u16,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    fault: Mutex<Fault>,
    requests: AtomicU64,
}

impl S3 {
    /// Starts a service with its files in `folder`.
    ///
    /// # Panics
    /// If the folder cannot be made, or no port is free.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        std::fs::create_dir_all(folder.join(BUCKET)).expect("a bucket");
        let mut builder = S3ServiceBuilder::new(FileSystem::new(folder).expect("a file system"));
        builder.set_auth(SimpleAuth::from_single(KEY_ID, KEY_SECRET));
        let service = builder.build();
        let state = Arc::new(State { fault: Mutex::new(Fault::None), requests: AtomicU64::new(0) });
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        runtime.spawn(serve(listener, service, Arc::clone(&state)));
        Self { _runtime: runtime, port, state }
    }

    /// Where the server is reached: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on, this goes wrong.
    ///
    /// # Panics
    /// If a request panicked.
    pub fn set(&self, fault: Fault) {
        self.state.requests.store(0, Ordering::SeqCst);
        *self.state.fault.lock().expect("no panic") = fault;
    }
}

async fn serve(listener: TcpListener, service: S3Service, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (service, state) = (service.clone(), Arc::clone(&state));
        let answer = service_fn(move |request: Request<Incoming>| answer(service.clone(), Arc::clone(&state), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
    }
}

async fn answer(
    service: S3Service,
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let n = state.requests.fetch_add(1, Ordering::SeqCst);
    let fault = *state.fault.lock().expect("no panic");
    match fault {
        Fault::Hangs => tokio::time::sleep(HUNG).await,
        Fault::FailsFrom(from) if n >= from => {
            let mut failed = Response::new(Body::empty());
            *failed.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return Ok(failed);
        }
        Fault::FailsFrom(_) | Fault::None => {}
    }
    Ok(service.call(request.map(Body::from)).await.unwrap_or_else(|error| panic!("{error:?}")))
}
