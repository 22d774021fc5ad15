//! The fact that variables changed. It holds names and types; the values are elsewhere, sealed.

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, RecordChange};
use crate::{EnvName, Variable};

/// Variables were set or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvChanged {
    /// The changes, each name once.
    pub changes: Vec<EnvChange>,
}

/// A change of one variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvChange {
    /// The name of the variable.
    pub name: EnvName,
    /// The variable from here on; none if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<Variable>,
}

impl Fact for EnvChanged {
    const RECORD: RecordChange<Self> = Some(|changed, mut record| {
        for EnvChange { name, variable } in &changed.changes {
            match variable {
                Some(variable) => drop(record.variables.insert(name.clone(), variable.clone())),
                None => drop(record.variables.remove(name)),
            }
        }
        Ok(record)
    });
}
