//! Variables that a subagent waits for: which ones it lacks, and how they are supplied.
//!
//! The request has the id of the subagent's thread. The answer `subagent_env_required` names it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{EnvName, EnvType, ThreadId};

use crate::ErrorCode;
use crate::call::{Declaration, Honours};
use crate::group::ENV;
use crate::object::parsed;

const REQUEST: &str = "/v1/threads/{thread}/variables/{request}";

/// Shows the variables that a subagent requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetVariables {
    /// The request: the id of the subagent's thread, as `subagent_env_required` names it.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub request: ThreadId,
}

impl GetVariables {
    pub(crate) const DECLARATION: Declaration = Declaration::get(("variables", "getVariables"), REQUEST, ENV)
        .about("Shows the variables that a subagent of a thread requires before it starts, and those that it lacks.")
        .gives("The variables. Both lists are empty where the agent of the subagent is not defined.");
}

/// Supplies the variables that a subagent waits for.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SupplyVariables {
    /// The request: the id of the subagent's thread, as `subagent_env_required` names it.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub request: ThreadId,
    /// The values by the names of the variables, each at most 16 KiB. They are set together, on the subagent's thread.
    pub env: BTreeMap<String, String>,
}

impl SupplyVariables {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("supply-variables", "supplyVariables"), REQUEST, ENV)
            .about("Sets variables that a subagent waits for. It starts once it lacks none. The values are sealed.")
            .gives("The variables that the subagent requires, and those that it still lacks.")
            .repeats()
            .honours(Honours::SECRET)
            .fails(&[ErrorCode::SecretsUnavailable])
            .example(r#"{"env":{"TOKEN":"sk-1234567890"}}"#);
}

/// Values stay out of what programs print of themselves.
impl fmt::Debug for SupplyVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.keys().collect();
        f.debug_struct("SupplyVariables").field("request", &self.request).field("env", &names).finish()
    }
}

/// The variables that a subagent requires.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredVariables {
    /// Those that its agent requires and takes from no caller, by name.
    pub required: Vec<RequiredVariable>,
    /// The names of those that it lacks. It starts once there are none.
    pub missing: Vec<EnvName>,
}

/// A variable that an agent requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredVariable {
    /// The name of the variable.
    pub name: EnvName,
    /// Whether the value may be shown.
    #[serde(rename = "type")]
    pub kind: EnvType,
    /// Its purpose, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
