//! Threads for agents and effects. They give way to the threads that answer requests: a person or a program that
//! waits for an answer comes first, however many agents are at work.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// How much these threads give way, as `nice` counts: on a machine without idle time they get a quarter of a core that
/// they share with another thread.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// A tokio runtime with threads of lower priority. Dropped, it ends their tasks.
pub(crate) struct BackgroundThreads(Option<Runtime>);

impl BackgroundThreads {
    pub(crate) fn start() -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.enable_all().thread_name("threadkeep-agents");
        #[cfg(target_os = "linux")]
        builder.on_thread_start(|| {
            // Linux counts for each thread. Where this is refused, agents are as important as requests.
            let _ = rustix::process::setpriority_process(None, NICE);
        });
        Ok(Self(Some(builder.build()?)))
    }

    /// Where tasks for these threads are spawned.
    pub(crate) fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for BackgroundThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // It may be dropped by a task, which must not wait.
            runtime.shutdown_background();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn nice() -> i32 {
        rustix::process::getpriority_process(None).expect("the priority of this thread")
    }

    #[tokio::test]
    async fn its_threads_give_way_and_others_do_not() {
        let own = nice();
        let threads = BackgroundThreads::start().expect("threads");
        let handle = threads.handle().expect("a runtime").clone();
        let (task, blocking) = (handle.spawn(async { nice() }), handle.spawn_blocking(nice));
        let found = [task.await.expect("the task"), blocking.await.expect("the work")];
        assert_eq!(found, [NICE.max(own); 2]);
        assert_eq!(nice(), own);
    }
}
