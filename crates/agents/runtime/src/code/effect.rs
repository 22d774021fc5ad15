//! Effects that are code: `effects/NAME.ts`, run in a worker for the actor who scheduled them.

use serde_json::{Map, Value as Json};

use super::said;
use super::{Ended, Host};
use crate::attempt::{Declared, never, schema};
use crate::definitions::{Definitions, Kind, Name, Problem, Problems, position_of};
use crate::effects::EffectCall;
use crate::{Runtime, RuntimeError};

impl Runtime {
    /// Runs the handler of an effect once. What it queued and scheduled is committed when it succeeds.
    pub(crate) async fn run_code_effect(&self, call: EffectCall) -> Result<(), String> {
        self.carry_out_effect(&call).await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn carry_out_effect(&self, call: &EffectCall) -> Result<Result<(), String>, RuntimeError> {
        let EffectCall { engine, effect } = call;
        let on = self.attempt(engine, effect.thread).await?;
        let (name, _) = on.definitions.get(Kind::Effect, effect.name.as_str(), None)?;
        let declared = self.declared_effect(&on.definitions, name).await?;
        let args = match serde_json::from_str(effect.args.as_str()) {
            Ok(Json::Object(args)) => args,
            _ => Map::new(),
        };
        if let Some(wrong) = schema::wrong(&declared.args, &args) {
            return Ok(Err(format!("the arguments are wrong: {wrong}")));
        }
        let reaches = (declared.variable_names(), declared.hosts.clone());
        // Requests of the handler carry the id of the effect, which is the same in each try.
        let (cancel, id) = (never(), effect.id.to_string());
        let host = Host::new(self, (&on, name), reaches, &id, &cancel);
        let task = self.task(&on, &host, &args).await?;
        match self.execute((&on, name), task, &host, (declared.timeout, &cancel)).await? {
            Ended::Returned(_) => {
                let held = host.take_held();
                if held.count() > 0 {
                    engine.log_tool(on.thread, None, held).await?;
                }
                Ok(Ok(()))
            }
            Ended::Failed(failure) => Ok(Err(said(&failure))),
        }
    }

    /// What the code of an effect says of itself.
    ///
    /// # Errors
    /// If it is broken, or no worker loads it.
    pub(crate) async fn declared_effect(
        &self,
        definitions: &Definitions,
        name: &Name,
    ) -> Result<Declared, RuntimeError> {
        Declared::of_code(self.described(definitions, name).await?).map_err(|(field, what)| {
            let (file, line, column) = position_of(definitions, name, &field);
            let problems = vec![Problem { file, line, column, what }];
            Problems::Invalid { name: name.text(), kind: Kind::Effect.word(), problems }.into()
        })
    }
}
