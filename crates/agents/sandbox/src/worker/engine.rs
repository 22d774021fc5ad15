//! The engine of a worker: prepared before it gets code, used once.

use rquickjs::context::EvalOptions;
use rquickjs::function::This;
use rquickjs::promise::PromiseState;
use rquickjs::{Array, Context, Ctx, Function, Module, Object, Persistent, Promise, Runtime, Value as Js};

use super::bridge::Bridge;
use super::convert::Helpers;
use super::failure::failure;
use super::memory::Counted;
use super::modules::Modules;
use super::{names, wire};
use crate::cbor;
use crate::code::{Execute, Failure, Status};
use crate::frame::{HEAD_BYTES, Kind};
use crate::limits::FRAME_BYTES_MAX;
use crate::task::{Done, Library, Task};
use crate::value::Value;

/// The name of `start.js` in stacks.
pub(super) const START: &str = "sandbox:start";
/// Stack of the code; the process has 8 MiB.
const STACK_BYTES: usize = 1 << 20;

/// An engine that waits for code.
pub(super) struct Engine<'js> {
    ctx: Ctx<'js>,
    bridge: Bridge<'js>,
    modules: Modules,
}

/// Prepares an engine, and hands it to `serve`, which ends the process.
pub(super) fn with(serve: impl for<'js> FnOnce(Engine<'js>) -> std::convert::Infallible) -> ! {
    let modules = Modules::default();
    let prepared = Runtime::new_with_alloc(Counted).and_then(|runtime| {
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_loader(modules.clone(), modules.clone());
        Context::full(&runtime)
    });
    let Ok(context) = prepared else { wire::end(1) };
    context.with(|ctx| {
        let bridge = Bridge::new();
        let Ok(()) = start(&ctx, &bridge) else { wire::end(1) };
        match serve(Engine { ctx, bridge, modules }) {}
    })
}

fn start<'js>(ctx: &Ctx<'js>, bridge: &Bridge<'js>) -> rquickjs::Result<()> {
    let mut options = EvalOptions::default();
    options.filename = Some(START.to_owned());
    let prepare: Function<'js> = ctx.eval_with_options(include_str!("start.js"), options)?;
    let helpers: Object<'js> = prepare.call((bridge.native(ctx)?,))?;
    bridge.give(Helpers(helpers));
    Ok(())
}

/// How a run ended before it gave a result.
enum Ended {
    /// What it is was told already.
    As(Status, Failure),
    /// An exception is pending, and it means this status.
    Thrown(Status),
}

impl From<rquickjs::Error> for Ended {
    fn from(_: rquickjs::Error) -> Self {
        Self::Thrown(Status::Error)
    }
}

impl<'js> Engine<'js> {
    /// Compiles modules that code of definitions may import. Each is compiled once, with those that it imports.
    pub(super) fn compile(&self, library: Library) {
        for name in self.modules.prepare(library) {
            if let Some((name, source)) = self.modules.uncompiled(&name) {
                match Module::declare(self.ctx.clone(), name, source) {
                    // The engine finds it by its name.
                    Ok(module) => std::mem::forget(module),
                    Err(_) => wire::end(1),
                }
            }
        }
    }

    /// Runs a task, tells how it went, and ends the process.
    pub(super) fn run(self, task: Value) -> std::convert::Infallible {
        let Some(task) = Task::read(task) else { wire::end(1) };
        let done = match &task.find {
            Some(name) => match names::found(&task.modules, name) {
                Ok(result) => Done { status: Status::Success, result, error: None },
                Err(failure) => Done::failed(Status::LinkError, failure),
            },
            None => self.carry_out(&task),
        };
        let mut payload = cbor::write(&done.write());
        if payload.len() + HEAD_BYTES > FRAME_BYTES_MAX {
            let error = Failure::new("LimitError", format!("the result has more than {FRAME_BYTES_MAX} bytes"));
            payload = cbor::write(&Done::failed(Status::Error, error).write());
        }
        wire::send(Kind::Done, 0, &payload);
        wire::end(0)
    }

    fn carry_out(&self, task: &Task) -> Done {
        let (modules, ended) = (&self.modules, self.result(task));
        let ended = match ended {
            Ok(result) => return Done { status: Status::Success, result, error: None },
            Err(ended) => ended,
        };
        let (status, error) = match ended {
            Ended::As(status, failure) => (status, failure),
            Ended::Thrown(status) => {
                let thrown = self.ctx.catch();
                let known = modules.failure().filter(|_| status == Status::LinkError);
                let told =
                    || self.bridge.helpers().map(|helpers| failure(&helpers, modules, &thrown)).unwrap_or_default();
                (status, known.unwrap_or_else(told))
            }
        };
        Done::failed(status, error)
    }

    fn result(&self, task: &Task) -> Result<Value, Ended> {
        let ctx = &self.ctx;
        self.prepare(task)?;
        let linked = |_| Ended::Thrown(Status::LinkError);
        let source = self
            .modules
            .compiled(&task.filename, &task.source)
            .map_err(|failure| Ended::As(Status::LinkError, failure))?;
        let module = Module::declare(ctx.clone(), task.filename.as_str(), source).map_err(linked)?;
        wire::send(Kind::Started, 0, &[]);
        let (module, evaluated) = module.eval().map_err(linked)?;
        self.settled(&evaluated)?;
        let namespace = module.namespace()?;
        let value = self.settled(&self.called(&namespace, task.execute.as_ref())?)?;
        Ok(self.bridge.leave(ctx, &value)?)
    }

    /// Sets globals, and what imports find.
    fn prepare(&self, task: &Task) -> Result<(), Ended> {
        let ctx = &self.ctx;
        let given = |fields: &[(String, Value)]| -> rquickjs::Result<Object<'js>> {
            let object = Object::new(ctx.clone())?;
            for (name, value) in fields {
                object.set(name.as_str(), self.bridge.enter(ctx, value)?)?;
            }
            Ok(object)
        };
        for (name, value) in &task.globals {
            ctx.globals().set(name.as_str(), self.bridge.enter(ctx, value)?)?;
        }
        let imports = Object::new(ctx.clone())?;
        for (name, exports) in &task.imports {
            imports.set(name.as_str(), given(exports)?)?;
        }
        if task.is_definition {
            self.modules.give_own(ctx, &imports)?;
        }
        let names = |exports: &[(String, Value)]| exports.iter().map(|(name, _)| name.clone()).collect();
        let exports = task.imports.iter().map(|(name, exports)| (name.clone(), names(exports))).collect();
        let values = Persistent::save(ctx, imports);
        let of = (task.language, task.is_definition);
        let given = self.modules.give(of, (&task.modules, &task.library), exports, values);
        given.map_err(|why| Ended::As(Status::LinkError, Failure::new("LinkError", why)))
    }

    /// A promise of what the module gives: the call of an export, or its default export.
    fn called(&self, namespace: &Object<'js>, execute: Option<&Execute>) -> Result<Promise<'js>, Ended> {
        let helpers = self.bridge.helpers()?;
        let name = execute.map_or("default", |execute| execute.function.as_str());
        let export: Js<'js> = namespace.get(name)?;
        let args = Array::new(self.ctx.clone())?;
        for (index, value) in execute.map_or(&[][..], |execute| &execute.args).iter().enumerate() {
            args.set(index, self.bridge.enter(&self.ctx, value)?)?;
        }
        if export.is_function() {
            return Ok(helpers.get("start")?.call((This(helpers.0.clone()), export, args))?);
        }
        if execute.is_some() {
            let message = format!("the module exports no function '{name}'");
            return Err(Ended::As(Status::LinkError, Failure::new("LinkError", message)));
        }
        Ok(helpers.get("settle")?.call((This(helpers.0.clone()), export))?)
    }

    /// Runs until a promise is settled.
    fn settled(&self, promise: &Promise<'js>) -> Result<Js<'js>, Ended> {
        loop {
            while self.ctx.execute_pending_job() {}
            match promise.state() {
                PromiseState::Pending if self.bridge.is_waiting() => self.bridge.answered(&self.ctx)?,
                PromiseState::Pending => {
                    let message = "the code waits for a promise that nothing can settle";
                    return Err(Ended::As(Status::Error, Failure::new("Error", message)));
                }
                PromiseState::Resolved | PromiseState::Rejected => {
                    return Ok(promise.result::<Js<'js>>().unwrap_or(Err(rquickjs::Error::Unknown))?);
                }
            }
        }
    }
}
