//! `variables`, `supply-variables`: the variables that a subagent requires before it starts.
//!
//! A subagent that lacks a variable is made all the same, and waits. The values are set on its own thread, all in one
//! commit, and its server starts it when it sees the commit.

use std::collections::BTreeMap;

use threadkeep_calls::{GetVariables, RequiredVariable, RequiredVariables, SupplyVariables};
use threadkeep_model::{
    Code, Entry, EnvChange, EnvChanged, EnvName, EnvType, Invalid, Thread, ThreadId, Uuid, Variable,
};
use threadkeep_vault::Redactor;

use super::env::{checked, refuse_more};
use crate::ground::carry::Carry;
use crate::ground::plan::{Plan, write};
use crate::{Engine, Error, Result};

impl Carry for GetVariables {
    type Made = RequiredVariables;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<RequiredVariables> {
        let subagent = engine.subagent_of(thread, self.request).await?;
        engine.required(&subagent).await
    }
}

impl Carry for SupplyVariables {
    type Made = RequiredVariables;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<RequiredVariables> {
        let subagent = engine.subagent_of(thread, self.request).await?;
        let required = engine.required(&subagent).await?.required;
        let values = supplied(&required, self.env)?;
        let mut sealed = BTreeMap::new();
        for (name, (kind, value)) in values {
            let generation = Uuid::from_chance(engine.shared.world.chance());
            engine.keep_sealed(subagent.id, &name, generation, &value).await?;
            sealed.insert(name, Variable { kind, generation });
        }
        let told = engine
            .tell(subagent.id, || async {
                let plan = decide(engine.subagent_of(thread, subagent.id).await?, &sealed)?;
                if engine.expects().is_none() {
                    return Ok(plan);
                }
                // The version that is expected is the one of the thread in the path.
                let own = engine.thread(thread).await?;
                Ok(plan.with(write(&own, None, None, Vec::new(), None)))
            })
            .await?;
        let before = subagent.record.variables.iter().filter(|(name, _)| sealed.contains_key(*name));
        let before = before.map(|(name, variable)| (name.clone(), variable.generation)).collect();
        engine.drop_sealed(subagent.id, before).await;
        engine.required(&told.thread).await
    }

    /// The values go to the vault, and nowhere else.
    fn redacted(self, _: &Redactor) -> Result<Self> {
        Ok(self)
    }
}

/// The values that are set, with their types. Where the agent is defined, only variables that it requires are taken.
fn supplied(
    required: &[RequiredVariable],
    env: BTreeMap<String, String>,
) -> Result<BTreeMap<EnvName, (EnvType, String)>> {
    if env.is_empty() {
        return Err(Invalid::body("env", "names no variable").into());
    }
    let mut values = BTreeMap::new();
    for (name, value) in env {
        let name: EnvName = name.parse()?;
        checked(&value)?;
        let declared = required.iter().find(|one| one.name == name);
        if declared.is_none() && !required.is_empty() {
            let known: Vec<&str> = required.iter().map(|one| one.name.as_str()).collect();
            let rule = format!("'{name}' is not required; required: {}", known.join(", "));
            return Err(Invalid::new(Code::InvalidBody, "env", rule).into());
        }
        values.insert(name, (declared.map_or(EnvType::Secret, |one| one.kind), value));
    }
    Ok(values)
}

/// The plan: all variables from here on.
fn decide(subagent: Thread, sealed: &BTreeMap<EnvName, Variable>) -> Result<Plan> {
    refuse_more(&subagent.record.variables, sealed.keys())?;
    let change =
        |(name, variable): (&EnvName, &Variable)| EnvChange { name: name.clone(), variable: Some(variable.clone()) };
    let changes = sealed.iter().map(change).collect();
    Ok(Plan::new(subagent, vec![Entry::EnvChanged(EnvChanged { changes })]))
}

impl Engine {
    /// The thread of a subagent of `parent`.
    async fn subagent_of(&self, parent: ThreadId, subagent: ThreadId) -> Result<Thread> {
        let found = self.child_thread(parent, subagent.into()).await?;
        found.ok_or(Error::ThreadNotFound { thread: subagent.into() })
    }

    /// The variables that the agent of a subagent requires, and those that its thread does not see.
    async fn required(&self, subagent: &Thread) -> Result<RequiredVariables> {
        let required = match (&self.defined, subagent.record.agent_id.as_deref()) {
            (Some(defined), Some(agent)) => defined.required(agent),
            (None, _) | (_, None) => Vec::new(),
        };
        let mut missing = Vec::new();
        for RequiredVariable { name, .. } in &required {
            match self.env_of_instance_too(subagent.id, name).await {
                Ok(_) => {}
                Err(Error::EnvNotFound { .. }) => missing.push(name.clone()),
                Err(error) => return Err(error),
            }
        }
        Ok(RequiredVariables { required, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::record_after;
    use crate::ground::plan::testing::thread;

    fn name(text: &str) -> EnvName {
        text.parse().expect("a name")
    }

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_required_variables_are_taken_and_with_the_type_that_is_declared() {
        let required = [RequiredVariable { name: name("TOKEN"), kind: EnvType::Text, description: None }];
        let taken = supplied(&required, env(&[("TOKEN", "x")])).expect("values");
        assert_eq!(taken[&name("TOKEN")], (EnvType::Text, "x".to_owned()));
        let refused = supplied(&required, env(&[("TOKN", "x")])).expect_err("a typo");
        assert!(refused.to_string().contains("required: TOKEN"), "{refused}");
        assert!(supplied(&required, BTreeMap::new()).is_err(), "nothing");
        assert!(supplied(&required, env(&[("not a name", "x")])).is_err(), "no name");
        // Where the agent is not defined, nothing is known of its variables.
        assert_eq!(supplied(&[], env(&[("ANY", "x")])).expect("values")[&name("ANY")].0, EnvType::Secret);
    }

    #[test]
    fn all_variables_are_set_in_one_entry() {
        let variable = || Variable { kind: EnvType::Secret, generation: Uuid::from_chance(1) };
        let sealed = BTreeMap::from([(name("A"), variable()), (name("B"), variable())]);
        let plan = decide(thread(), &sealed).expect("a plan");
        assert_eq!(plan.entries.len(), 1);
        assert_eq!(record_after(&thread(), &plan.entries).expect("a record").variables, sealed);
    }
}
