//! The work that a runtime does beside requests: effects, runs, and changes of the folder.

use std::sync::Arc;

use threadkeep_engine::KnowEffects;
use threadkeep_model::EffectName;
use threadkeep_store::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Runtime;
use crate::agent::dispatch::dispatch;
use crate::definitions::Kind;
use crate::effects::{EffectCall, RunEffects, run_effects};
use crate::reload::POLL;

impl Runtime {
    /// Starts the work beside requests, on the tokio runtime of the caller: every background task of the runtime starts
    /// here, and ends with [`Background::stop`] or when the handle is dropped.
    pub fn start(&self) -> Background {
        let (mut tasks, mut ending) = (JoinSet::new(), JoinSet::new());
        let (stop, mut stopped) = watch::channel(false);
        if self.folder().is_some() {
            tasks.spawn(self.clone().follow_folder());
        }
        if self.folder().is_some() || !self.shared.effects.is_empty() {
            let (engine, handlers) = (self.engine().clone(), Arc::new(Handlers(self.clone())));
            ending.spawn(run_effects(engine, handlers, async move {
                // It is dropped with the handle, which ends this task.
                drop(stopped.wait_for(|stopped| *stopped).await);
            }));
        }
        let mut stopped = stop.subscribe();
        ending.spawn(dispatch(self.clone(), async move {
            // As above.
            drop(stopped.wait_for(|stopped| *stopped).await);
        }));
        Background { tasks, ending, stop, runtime: self.clone() }
    }

    /// Looks at the folder once a second, and reads it again when a file changed.
    async fn follow_folder(self) {
        let mut ticks = tokio::time::interval(POLL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let shared = Arc::clone(&self.shared);
            let renewed = tokio::task::spawn_blocking(move || {
                let renewed = shared.present.renew();
                if !shared.mcp.is_empty() {
                    shared.mcp.keep(&shared.present.get());
                }
                renewed
            });
            let renewed = renewed.await;
            if let Ok(Err(error)) = renewed {
                tracing::warn!(%error, "the folder of definitions was not read: the definitions stay as they were");
            }
        }
    }
}

/// Effects that are defined here may be scheduled. Where none is defined, every name may be: another process may know it.
impl KnowEffects for Runtime {
    fn knows(&self, name: &EffectName) -> bool {
        let definitions = self.definitions();
        definitions.find(Kind::Effect, name.as_str(), None).is_some()
            || definitions.names(Kind::Effect).next().is_none()
    }
}

/// The handlers of effects that this process has: those of the program, and those of the definitions.
struct Handlers(Runtime);

impl KnowEffects for Handlers {
    fn knows(&self, name: &EffectName) -> bool {
        // An effect whose file is broken waits until the file is mended.
        self.0.shared.effects.knows(name) || self.0.definitions().has_effect(name.as_str())
    }
}

impl RunEffects for Handlers {
    fn run(&self, call: EffectCall) -> BoxFuture<'static, Result<(), String>> {
        if self.0.shared.effects.knows(&call.effect.name) {
            return self.0.shared.effects.run(call);
        }
        let runtime = self.0.clone();
        Box::pin(async move { runtime.run_code_effect(call).await })
    }

    fn generation(&self) -> u64 {
        self.0.definitions().generation()
    }

    fn prepare(&self) -> BoxFuture<'static, ()> {
        let runtime = self.0.clone();
        Box::pin(async move {
            let definitions = runtime.definitions();
            for name in definitions.names(Kind::Effect) {
                // What is wrong with it is kept, and told to all who ask.
                if !definitions.is_brought(name) && definitions.has_effect(&name.text()) {
                    drop(runtime.described(&definitions, name).await);
                }
            }
        })
    }
}

/// The background tasks of a runtime.
#[must_use = "dropped, it ends the tasks"]
pub struct Background {
    tasks: JoinSet<()>,
    /// Tasks that finish what they have begun.
    ending: JoinSet<()>,
    stop: watch::Sender<bool>,
    runtime: Runtime,
}

impl Background {
    /// Ends all tasks, and waits until they have ended. Work that this process owned goes to others at once.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.ending.join_next().await.is_some() {}
        self.tasks.shutdown().await;
        self.runtime.shared.mcp.end();
        if let Err(error) = self.runtime.engine().end_lease().await {
            tracing::warn!(%error, "the lease of this process ends by itself, in a few seconds");
        }
    }
}
