//! The host's side: places for runs, workers that are ready, and the refusals.
//!
//! [`process`] starts workers, [`run`] follows one run from its first frame to its last.

mod process;
mod run;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::cage::Protections;
use crate::code::{Code, Event, Origin, Outcome};
use crate::limits::{MEMORY_BYTES_RANGE, READY_MAX, REST, RESTS, RUNS_MAX, TIMEOUT_MAX, WAITING_MAX, WRITTEN_MAX};
use crate::{task, worker};
use process::{Spawner, Worker};

/// How strong the cage must be for code of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Landlock and seccomp. Without Landlock only code of definitions runs.
    #[default]
    Full,
    /// Seccomp is enough; Landlock may be missing.
    Seccomp,
    /// Limits of resources are enough: code runs on any kernel, and a bug of the engine reaches the host.
    Rlimits,
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Self::Full),
            "seccomp" => Ok(Self::Seccomp),
            "rlimits" => Ok(Self::Rlimits),
            other => Err(format!("'{other}' is none of: full, seccomp, rlimits")),
        }
    }
}

/// Settings of a sandbox.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How strong the cage must be.
    pub level: Level,
    /// What the kernel offers. Tests name less than it does.
    pub protections: Protections,
    /// The program that is a worker; the running one unless set.
    pub worker: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: Level::default(), protections: Protections::of_this_kernel(), worker: None }
    }
}

/// Why no code runs now.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unavailable {
    /// The program never called `worker_if_asked`.
    #[error("this program cannot run code: its main function does not call worker_if_asked first")]
    NotAsked,
    /// The cage would be weaker than the settings ask for.
    #[error("{0}")]
    Weak(String),
    /// All places are taken, and as many runs wait as may.
    #[error("{RUNS_MAX} runs are open and {WAITING_MAX} wait: try again later")]
    Full,
    /// A worker does not start.
    #[error("a worker did not start: {0}")]
    Failed(String),
}

/// Runs code in workers. Clones share their places and workers.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Threads of its own, started with the first run: those of the program may be busy, or not there.
    runtime: OnceLock<Runtime>,
    /// Held while the threads are started.
    starting: Mutex<()>,
    spawner: OnceLock<Spawner>,
    /// The modules that workers compile before they get code, as a frame.
    library: OnceLock<Vec<u8>>,
    ready: Mutex<Vec<Worker>>,
    filling: AtomicBool,
    resting: AtomicBool,
    written: Semaphore,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Sandbox {
    /// A sandbox. It starts nothing before its first run.
    pub fn new(settings: Settings) -> Self {
        let shared = Shared {
            settings,
            places: Arc::new(Semaphore::new(RUNS_MAX)),
            waiting: AtomicUsize::new(0),
            runtime: OnceLock::new(),
            starting: Mutex::default(),
            spawner: OnceLock::new(),
            library: OnceLock::new(),
            ready: Mutex::default(),
            filling: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            written: Semaphore::new(WRITTEN_MAX),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Modules that code of definitions may import: sources in JavaScript by their bare names, and the names that the
    /// host's modules export to them. Workers compile them while they wait for code. Called before the first run, and once.
    pub fn prepare(&self, library: BTreeMap<String, String>, exports: BTreeMap<String, Vec<String>>) {
        let frame = task::library(library, exports);
        // Another program on the same sandbox brought them already.
        drop(self.shared.library.set(frame));
    }

    /// Passes if code of this origin may run here.
    ///
    /// # Errors
    /// [`Unavailable::NotAsked`] and [`Unavailable::Weak`].
    pub fn check(&self, origin: Origin) -> Result<(), Unavailable> {
        let Settings { level, protections, worker } = &self.shared.settings;
        if worker.is_none() && !worker::is_asked() {
            return Err(Unavailable::NotAsked);
        }
        let lacks = |what: &str, enough: &str| {
            Unavailable::Weak(format!(
                "the kernel has no {what}; the setting sandbox-level = {enough} runs code without it"
            ))
        };
        if *level != Level::Rlimits && !protections.seccomp {
            return Err(lacks("seccomp", "rlimits"));
        }
        if *level == Level::Full && !protections.landlock && origin == Origin::Request {
            return Err(lacks("Landlock", "seccomp"));
        }
        Ok(())
    }

    /// Starts a run, or lets it wait for a place. Dropping the handle kills it.
    ///
    /// # Errors
    /// [`Unavailable`]. Code that cannot run is no error: its outcome says so.
    pub fn start(&self, code: Code) -> Result<Execution, Unavailable> {
        self.check(code.origin)?;
        let (stop, stopped) = mpsc::unbounded_channel();
        let (tell, events) = mpsc::unbounded_channel();
        let (done, outcome) = oneshot::channel();
        let execution = Execution { outcome, events, stop: Terminator(stop) };
        if let Some(refused) = refused(&code) {
            // Both ends are here, so it arrives.
            drop(done.send(Ok(refused)));
            return Ok(execution);
        }
        let place = match Arc::clone(&self.shared.places).try_acquire_owned() {
            _ if code.nested => Place::Parents,
            Ok(place) => Place::Held(place),
            Err(_) if self.shared.waiting.fetch_add(1, Ordering::Relaxed) < WAITING_MAX => Place::Awaited,
            Err(_) => {
                self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                return Err(Unavailable::Full);
            }
        };
        let shared = Arc::clone(&self.shared);
        self.runtime()?.spawn(async move {
            let ended = shared.carry_out(place, code, stopped, tell).await;
            // If the handle is gone, nobody asks.
            drop(done.send(ended));
            shared.rest().await;
        });
        Ok(execution)
    }

    /// Does something with an outcome that takes a while, away from the threads that answer others, a few at once.
    ///
    /// # Errors
    /// [`Unavailable::Failed`] if the work panics.
    pub async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unavailable> {
        let failed = |error: &dyn std::error::Error| Unavailable::Failed(error.to_string());
        let _turn = self.shared.written.acquire().await.map_err(|error| failed(&error))?;
        self.runtime()?.spawn_blocking(work).await.map_err(|error| failed(&error))
    }

    fn runtime(&self) -> Result<&Runtime, Unavailable> {
        let shared = &self.shared;
        if let Some(runtime) = shared.runtime.get() {
            return Ok(runtime);
        }
        // One caller builds it. A second runtime would be dropped inside a task, and tokio panics there.
        let _starting = shared.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = shared.runtime.get() {
            return Ok(runtime);
        }
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("sandbox").enable_all().build();
        let runtime = runtime.map_err(|error| Unavailable::Failed(error.to_string()))?;
        let runtime = shared.runtime.get_or_init(|| runtime);
        shared.spawner.get_or_init(|| Spawner::new(&shared.settings));
        Ok(runtime)
    }

    /// The processes of workers that are ready, for measurements.
    pub fn ready(&self) -> Vec<u32> {
        self.shared.ready().iter().map(Worker::id).collect()
    }
}

/// The place of a run among all.
enum Place {
    /// Its own.
    Held(OwnedSemaphorePermit),
    /// That of the run that waits for it.
    Parents,
    /// It waits for one.
    Awaited,
}

/// The outcome of code whose options cannot be.
fn refused(code: &Code) -> Option<Outcome> {
    let refuse = |message: String| Some(Outcome::link_error("RangeError", message));
    if !MEMORY_BYTES_RANGE.contains(&code.memory_bytes) {
        let (least, most) = (MEMORY_BYTES_RANGE.start(), MEMORY_BYTES_RANGE.end());
        return refuse(format!("the memory limit is not between {least} and {most} bytes"));
    }
    if code.timeout.is_zero() || code.timeout > TIMEOUT_MAX {
        return refuse(format!("the time limit is not between 1 and {} ms", TIMEOUT_MAX.as_millis()));
    }
    None
}

impl Shared {
    async fn carry_out(
        self: &Arc<Self>,
        place: Place,
        code: Code,
        mut stopped: mpsc::UnboundedReceiver<String>,
        events: mpsc::UnboundedSender<Event>,
    ) -> Result<Outcome, Unavailable> {
        let _place = match place {
            Place::Held(place) => Some(place),
            // Invariant: a nested run never waits for a place, or all places could wait for each other.
            Place::Parents => None,
            Place::Awaited => {
                let place = tokio::select! {
                    place = Arc::clone(&self.places).acquire_owned() => place.ok(),
                    reason = stopped.recv() => {
                        self.waiting.fetch_sub(1, Ordering::Relaxed);
                        return Ok(run::terminated(reason.unwrap_or_default()));
                    }
                };
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Some(place.ok_or(Unavailable::Full)?)
            }
        };
        let worker = self.worker().await?;
        run::drive(worker, code, &mut stopped, &events).await
    }

    /// A worker that is ready; a new one if none is.
    async fn worker(self: &Arc<Self>) -> Result<Worker, Unavailable> {
        // One that the kernel killed while it waited is left out.
        let ready =
            std::iter::from_fn(|| self.ready().pop()).find_map(|mut worker| worker.is_alive().then_some(worker));
        self.fill();
        match ready {
            Some(worker) => Ok(worker),
            None => self.spawned().await,
        }
    }

    async fn spawned(&self) -> Result<Worker, Unavailable> {
        match self.spawner.get() {
            Some(spawner) => {
                let none = || task::library(BTreeMap::new(), BTreeMap::new());
                spawner.spawn(self.library.get_or_init(none)).await
            }
            None => Err(Unavailable::Failed("the sandbox has not started".to_owned())),
        }
    }

    /// Starts workers until as many are ready as should be, one after the other.
    fn fill(self: &Arc<Self>) {
        if self.filling.swap(true, Ordering::Relaxed) {
            return;
        }
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(shared) = weak.upgrade() {
                if shared.ready().len() >= READY_MAX {
                    shared.filling.store(false, Ordering::Relaxed);
                    return;
                }
                match shared.spawned().await {
                    Ok(worker) => shared.ready().push(worker),
                    Err(_) => {
                        // The next run starts its own, and tells why it cannot.
                        shared.filling.store(false, Ordering::Relaxed);
                        return;
                    }
                }
            }
        });
    }

    /// Gives the memory of values and logs back once no run was open for a while.
    async fn rest(&self) {
        if self.resting.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut left = RESTS;
        while left > 0 {
            tokio::time::sleep(REST).await;
            if self.places.available_permits() == RUNS_MAX {
                // Once is not enough: clients may take their time to read the outcomes.
                give_memory_back();
                left -= 1;
            } else {
                left = RESTS;
            }
        }
        self.resting.store(false, Ordering::Relaxed);
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.ready().clear();
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped where waiting is not allowed.
            runtime.shutdown_background();
        }
    }
}

/// Gives freed memory back to the system. The allocator of glibc keeps it otherwise: 100 MB after 40 floods of reports.
fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "a call of the C library")]
    // SAFETY: it takes a number, and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A run. As a future it gives the outcome; dropped, it is killed.
pub struct Execution {
    outcome: oneshot::Receiver<Result<Outcome, Unavailable>>,
    events: mpsc::UnboundedReceiver<Event>,
    stop: Terminator,
}

impl Execution {
    /// Ends the run at once.
    pub fn terminate(&self, reason: impl Into<String>) {
        self.stop.terminate(reason);
    }

    /// A handle that ends the run, also from elsewhere.
    pub fn terminator(&self) -> Terminator {
        self.stop.clone()
    }

    /// Drops lines of the console and reports until the outcome, which has them all.
    pub fn quiet(mut self) -> Self {
        self.events.close();
        self
    }

    /// The next line of the console or report; none once the run has ended.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

impl Future for Execution {
    type Output = Result<Outcome, Unavailable>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let gone = |_| Err(Unavailable::Failed("the sandbox was stopped".to_owned()));
        Pin::new(&mut self.outcome).poll(context).map(|outcome| outcome.unwrap_or_else(gone))
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.terminate("the caller went away");
    }
}

/// Ends a run from outside.
#[derive(Clone)]
pub struct Terminator(mpsc::UnboundedSender<String>);

impl Terminator {
    /// Ends the run at once; one that has ended stays as it is.
    pub fn terminate(&self, reason: impl Into<String>) {
        drop(self.0.send(reason.into()));
    }
}
