//! The way from code to its host: the console, reports, and calls of host functions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::function::Rest;
use rquickjs::{Ctx, Exception, Function, Object, Promise, String as JsString, Value as Js};

use super::convert::{Helpers, Kind as Object_, Refused, enter};
use super::wire;
use crate::cbor;
use crate::frame::{HEAD_BYTES, Kind};
use crate::limits::{
    CALLS_MAX, CALLS_OPEN_MAX, FRAME_BYTES_MAX, LOG_ENTRY_BYTES, LOGS_BYTES_MAX, REPORTS_BYTES_MAX, REPORTS_VALUES_MAX,
    RUN_BYTES_MAX,
};
use crate::value::Value;

/// What was sent so far, and the calls that wait for an answer.
#[derive(Clone)]
pub(super) struct Bridge<'js>(Rc<RefCell<State<'js>>>);

struct State<'js> {
    /// Absent only while the globals are prepared.
    helpers: Option<Helpers<'js>>,
    bytes: usize,
    logs: usize,
    reports: usize,
    reported: usize,
    calls: u32,
    open: HashMap<u32, (Function<'js>, Function<'js>)>,
}

impl<'js> Bridge<'js> {
    pub(super) fn new() -> Self {
        let state = State { helpers: None, bytes: 0, logs: 0, reports: 0, reported: 0, calls: 0, open: HashMap::new() };
        Self(Rc::new(RefCell::new(state)))
    }

    /// The functions that `start.js` needs.
    pub(super) fn native(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let native = Object::new(ctx.clone())?;
        native.set("kind", Function::new(ctx.clone(), |value: Js<'js>| Object_::of(&value).word())?)?;
        let bridge = self.clone();
        let log = move |level: String, text: JsString<'js>| bridge.log(level, &text);
        native.set("log", Function::new(ctx.clone(), log)?)?;
        let bridge = self.clone();
        let report = move |ctx: Ctx<'js>, value: Js<'js>| bridge.report(&ctx, &value);
        native.set("report", Function::new(ctx.clone(), report)?)?;
        Ok(native)
    }

    pub(super) fn give(&self, helpers: Helpers<'js>) {
        self.0.borrow_mut().helpers = Some(helpers);
    }

    pub(super) fn helpers(&self) -> rquickjs::Result<Helpers<'js>> {
        self.0.borrow().helpers.clone().ok_or(rquickjs::Error::Unknown)
    }

    /// Whether calls wait for their answers.
    pub(super) fn is_waiting(&self) -> bool {
        !self.0.borrow().open.is_empty()
    }

    /// Sends a line of the console; drops it once there were too many.
    fn log(&self, level: String, text: &JsString<'js>) -> rquickjs::Result<()> {
        let helpers = self.helpers()?;
        let mut state = self.0.borrow_mut();
        if state.logs >= LOGS_BYTES_MAX {
            return Ok(());
        }
        let mut text = helpers.text(text)?;
        let left = LOGS_BYTES_MAX - state.logs;
        if text.len() + LOG_ENTRY_BYTES > left {
            text.truncate(text.floor_char_boundary(left.saturating_sub(LOG_ENTRY_BYTES)));
            text.push_str(" [the log ends here: it is full]");
            state.logs = LOGS_BYTES_MAX;
        } else {
            state.logs += text.len() + LOG_ENTRY_BYTES;
        }
        drop(state);
        wire::send(Kind::Log, 0, &cbor::write(&Value::Array(vec![level.into(), text.into()])));
        Ok(())
    }

    fn report(&self, ctx: &Ctx<'js>, value: &Js<'js>) -> rquickjs::Result<()> {
        let value = self.leave(ctx, value)?;
        let payload = cbor::write(&value);
        let (bytes, values) = {
            let state = self.0.borrow();
            (state.reports + payload.len(), state.reported + value.measure().0)
        };
        if bytes > REPORTS_BYTES_MAX || values > REPORTS_VALUES_MAX {
            return Err(self.limit(
                ctx,
                &format!("reports have more than {REPORTS_BYTES_MAX} bytes or {REPORTS_VALUES_MAX} values"),
            ));
        }
        self.spend(ctx, payload.len())?;
        let mut state = self.0.borrow_mut();
        (state.reports, state.reported) = (bytes, values);
        drop(state);
        wire::send(Kind::Report, 0, &payload);
        Ok(())
    }

    /// A value for the host.
    ///
    /// # Errors
    /// Throws a `SerializationError`.
    pub(super) fn leave(&self, ctx: &Ctx<'js>, value: &Js<'js>) -> rquickjs::Result<Value> {
        match self.helpers()?.leave(value) {
            Ok(value) => Ok(value),
            Err(Refused::Thrown) => Err(rquickjs::Error::Exception),
            Err(Refused::Not(why)) => {
                let message = format!("the value cannot leave the sandbox: {why}");
                Err(self.error(ctx, "SerializationError", &message))
            }
        }
    }

    /// A value of the host.
    pub(super) fn enter(&self, ctx: &Ctx<'js>, value: &Value) -> rquickjs::Result<Js<'js>> {
        enter(ctx, &self.helpers()?, value, &|number| self.function(ctx, number))
    }

    /// The async function that calls the host's function of this number.
    fn function(&self, ctx: &Ctx<'js>, number: u32) -> rquickjs::Result<Function<'js>> {
        let bridge = self.clone();
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, args: Rest<Js<'js>>| bridge.call(&ctx, number, &args.0))
    }

    /// Calls the host. Whatever goes wrong rejects the promise, as in an async function.
    fn call(&self, ctx: &Ctx<'js>, number: u32, args: &[Js<'js>]) -> rquickjs::Result<Promise<'js>> {
        let (promise, resolve, reject) = ctx.promise()?;
        if self.send_call(ctx, number, args, (resolve, reject.clone())).is_err() {
            let error = ctx.catch();
            reject.call::<_, ()>((error,))?;
        }
        Ok(promise)
    }

    fn send_call(
        &self,
        ctx: &Ctx<'js>,
        number: u32,
        args: &[Js<'js>],
        settle: (Function<'js>, Function<'js>),
    ) -> rquickjs::Result<()> {
        if self.0.borrow().open.len() >= CALLS_OPEN_MAX {
            return Err(self.limit(ctx, &format!("more than {CALLS_OPEN_MAX} host calls wait for an answer")));
        }
        if self.0.borrow().calls as usize >= CALLS_MAX {
            return Err(self.limit(ctx, &format!("the run made more than {CALLS_MAX} host calls")));
        }
        let mut all = vec![Value::Number(number.into())];
        for value in args {
            all.push(self.leave(ctx, value)?);
        }
        let payload = cbor::write(&Value::Array(all));
        self.spend(ctx, payload.len())?;
        let call = {
            let mut state = self.0.borrow_mut();
            state.calls += 1;
            let call = state.calls;
            state.open.insert(call, settle);
            call
        };
        wire::send(Kind::Call, call, &payload);
        Ok(())
    }

    /// Counts bytes that are sent.
    pub(super) fn spend(&self, ctx: &Ctx<'js>, bytes: usize) -> rquickjs::Result<()> {
        let all = self.0.borrow().bytes + bytes + HEAD_BYTES;
        if bytes + HEAD_BYTES > FRAME_BYTES_MAX || all > RUN_BYTES_MAX {
            let message =
                format!("a message has more than {FRAME_BYTES_MAX} bytes, or all have more than {RUN_BYTES_MAX}");
            return Err(self.limit(ctx, &message));
        }
        self.0.borrow_mut().bytes = all;
        Ok(())
    }

    /// Waits for the answer to a call, and settles its promise.
    pub(super) fn answered(&self, ctx: &Ctx<'js>) -> rquickjs::Result<()> {
        let (head, payload) = wire::receive();
        let Some((resolve, reject)) = self.0.borrow_mut().open.remove(&head.call) else { wire::end(1) };
        let Ok((value, _)) = cbor::read(&payload) else { wire::end(1) };
        match (head.kind, value) {
            (Kind::Answer, value) => resolve.call((self.enter(ctx, &value)?,)),
            (Kind::Refusal, Value::Array(parts)) => {
                let text = |index: usize| parts.get(index).and_then(Value::as_str).unwrap_or_default();
                reject.call((self.helpers()?.get("error")?.call::<_, Js<'js>>((text(0), text(1)))?,))
            }
            _ => wire::end(1),
        }
    }

    fn limit(&self, ctx: &Ctx<'js>, message: &str) -> rquickjs::Error {
        self.error(ctx, "LimitError", message)
    }

    /// Throws an error with this name.
    pub(super) fn error(&self, ctx: &Ctx<'js>, name: &str, message: &str) -> rquickjs::Error {
        let made = self.helpers().and_then(|helpers| helpers.get("error")?.call::<_, Js<'js>>((name, message)));
        match made {
            Ok(error) => ctx.throw(error),
            Err(_) => Exception::throw_message(ctx, message),
        }
    }
}
