//! `set-env` and its sisters: variables of threads and accounts. [`crate::env`] seals and finds their values.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use threadkeep_calls::{
    DeleteAccountEnv, DeleteEnv, Deleted, EnvLayer, EnvVariable, GetAccountEnv, GetEnv, ListAccountEnv, ListEnv,
    ListInstanceEnv, Page, SetAccountEnv, SetEnv,
};
use threadkeep_model::{
    Code, Entry, EnvChange, EnvChanged, EnvName, EnvType, Invalid, Thread, ThreadId, Uuid, Variable,
};
use threadkeep_vault::Redactor;

use crate::env::{VALUE_BYTES_MAX, VARIABLES_MAX, warnings};
use crate::ground::carry::Carry;
use crate::ground::plan::{Plan, Told};
use crate::{Engine, Error, Result};

fn listed(items: Vec<EnvVariable>) -> Page<EnvVariable> {
    Page::new(items, None, None)
}

pub(super) fn checked(value: &str) -> Result<()> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(Invalid::new(Code::TooLarge, "value", format!("has at most {VALUE_BYTES_MAX} bytes")).into());
    }
    Ok(())
}

impl Carry for ListEnv {
    type Made = Page<EnvVariable>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<EnvVariable>> {
        Ok(listed(engine.env_seen(thread).await?))
    }
}

impl Carry for GetEnv {
    type Made = EnvVariable;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<EnvVariable> {
        let found = engine.env_found(thread, &self.name).await?;
        let (found, value) = found.ok_or(Error::EnvNotFound { name: self.name })?;
        Ok(EnvVariable { value: Some(value), ..found })
    }
}

impl Carry for SetEnv {
    type Made = EnvVariable;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<EnvVariable> {
        let Self { name, value, kind: chosen } = self;
        checked(&value)?;
        engine.thread(thread).await?;
        let generation = Uuid::from_chance(engine.shared.world.chance());
        engine.keep_sealed(thread, &name, generation, &value).await?;
        let next = |before: Option<&Variable>| {
            let kind = chosen.or(before.map(|before| before.kind)).unwrap_or_default();
            Some(Variable { kind, generation })
        };
        // A commit that failed may have been kept all the same, so its value stays: gc deletes it if nothing names it.
        let (Told { thread, .. }, before) = engine.change_env(thread, &name, next).await?;
        if let Some(before) = before {
            engine.drop_sealed(thread.id, vec![(name.clone(), before.generation)]).await;
        }
        let kind = thread.record.variables.get(&name).map_or(EnvType::Secret, |variable| variable.kind);
        let warnings = warnings(&value, kind, chosen.is_some());
        Ok(EnvVariable { name, kind, layer: EnvLayer::Thread, thread_id: Some(thread.id), value: None, warnings })
    }

    /// The value goes to the vault, and nowhere else.
    fn redacted(self, _: &Redactor) -> Result<Self> {
        Ok(self)
    }
}

impl Carry for DeleteEnv {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        let (told, before) = engine.change_env(thread, &self.name, |_| None).await?;
        if let Some(before) = before {
            engine.drop_sealed(thread, vec![(self.name, before.generation)]).await;
        }
        Ok(Deleted { deleted: !told.entries.is_empty() })
    }
}

impl Carry for ListAccountEnv {
    type Made = Page<EnvVariable>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<EnvVariable>> {
        let values = engine.account_values(&engine.caller.account).await?;
        let variable = |(name, (kind, value))| {
            let value = Some(value).filter(|_| kind == EnvType::Text);
            EnvVariable { name, kind, layer: EnvLayer::Account, thread_id: None, value, warnings: Vec::new() }
        };
        Ok(listed(values.into_iter().map(variable).collect()))
    }
}

impl Carry for GetAccountEnv {
    type Made = EnvVariable;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<EnvVariable> {
        let Self { name } = self;
        let found = engine.account_values(&engine.caller.account).await?.remove(&name);
        let Some((kind, value)) = found else { return Err(Error::EnvNotFound { name }) };
        let layer = EnvLayer::Account;
        Ok(EnvVariable { name, kind, layer, thread_id: None, value: Some(value), warnings: Vec::new() })
    }
}

impl Carry for SetAccountEnv {
    type Made = EnvVariable;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<EnvVariable> {
        let Self { name, value, kind: chosen } = self;
        checked(&value)?;
        refuse_agents(engine)?;
        let kind = engine.set_account_env(&name, &value, chosen).await?;
        let warnings = warnings(&value, kind, chosen.is_some());
        Ok(EnvVariable { name, kind, layer: EnvLayer::Account, thread_id: None, value: None, warnings })
    }

    /// The value goes to the vault, and nowhere else.
    fn redacted(self, _: &Redactor) -> Result<Self> {
        Ok(self)
    }
}

impl Carry for DeleteAccountEnv {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Deleted> {
        refuse_agents(engine)?;
        Ok(Deleted { deleted: engine.delete_account_env(&self.name).await? })
    }
}

impl Carry for ListInstanceEnv {
    type Made = Page<EnvVariable>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<EnvVariable>> {
        Ok(listed(engine.instance_env()))
    }
}

/// An approval is for a thread, and an account is none.
fn refuse_agents(engine: &Engine) -> Result<()> {
    if engine.is_agent() {
        let what = "agents do not change the variables of an account; set one on the thread".to_owned();
        return Err(Error::NotAllowed { what });
    }
    Ok(())
}

impl Engine {
    /// Changes a variable of a thread to what `next` gives. Gives what was committed, and the variable before it.
    async fn change_env(
        &self,
        thread: ThreadId,
        name: &EnvName,
        next: impl Fn(Option<&Variable>) -> Option<Variable> + Send + Sync,
    ) -> Result<(Told, Option<Variable>)> {
        let before = Mutex::new(None);
        let told = self
            .tell(thread, || async {
                let thread = self.thread(thread).await?;
                let own = thread.record.variables.get(name).cloned();
                let variable = next(own.as_ref());
                *before.lock().unwrap_or_else(PoisonError::into_inner) = own;
                decide(thread, name, variable)
            })
            .await?;
        let before = before.into_inner().unwrap_or_else(PoisonError::into_inner);
        let before = before.filter(|_| !told.repeated);
        Ok((told, before))
    }
}

/// Refuses names beside `variables` that are more than a thread may have.
pub(super) fn refuse_more<'a>(
    variables: &BTreeMap<EnvName, Variable>,
    names: impl IntoIterator<Item = &'a EnvName>,
) -> Result<()> {
    let new = names.into_iter().filter(|name| !variables.contains_key(*name)).count();
    if new > 0 && variables.len() + new > VARIABLES_MAX {
        let rule = format!("a thread has at most {VARIABLES_MAX} variables");
        return Err(Invalid::new(Code::TooLarge, "name", rule).into());
    }
    Ok(())
}

/// The plan: the variable from here on, or none if it is removed.
fn decide(thread: Thread, name: &EnvName, variable: Option<Variable>) -> Result<Plan> {
    let variables = &thread.record.variables;
    if variable.is_none() && !variables.contains_key(name) {
        return Ok(Plan::new(thread, Vec::new()));
    }
    refuse_more(variables, [name])?;
    let changes = vec![EnvChange { name: name.clone(), variable }];
    Ok(Plan::new(thread, vec![Entry::EnvChanged(EnvChanged { changes })]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::plan::record_after;
    use crate::ground::plan::testing::thread;

    #[test]
    fn a_variable_is_set_and_removed_and_removing_what_is_missing_changes_nothing() {
        let name: EnvName = "A".parse().expect("a name");
        assert!(decide(thread(), &name, None).expect("a plan").entries.is_empty());
        let variable = Variable { kind: EnvType::Text, generation: Uuid::from_chance(1) };
        let plan = decide(thread(), &name, Some(variable.clone())).expect("a plan");
        let mut after = thread();
        after.record = record_after(&after, &plan.entries).expect("a record");
        assert_eq!(after.record.variables.get(&name), Some(&variable));
        let plan = decide(after.clone(), &name, None).expect("a plan");
        assert!(record_after(&after, &plan.entries).expect("a record").variables.is_empty());
    }

    #[test]
    fn a_thread_has_so_many_variables() {
        let mut full = thread();
        let variable = || Variable { kind: EnvType::Text, generation: Uuid::from_chance(1) };
        for number in 0..VARIABLES_MAX {
            full.record.variables.insert(format!("V{number}").parse().expect("a name"), variable());
        }
        let name = |text: &str| text.parse::<EnvName>().expect("a name");
        assert!(decide(full.clone(), &name("NEW"), Some(variable())).is_err());
        assert!(decide(full, &name("V1"), Some(variable())).is_ok());
    }
}
