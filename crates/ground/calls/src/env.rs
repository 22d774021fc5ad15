//! Variables of threads, accounts and the instance. Secret values are shown by the calls that read one variable, and by
//! no list.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{EnvName, EnvType, Invalid, ThreadId};

use crate::ErrorCode;
use crate::call::{Declaration, Honours, Needs};
use crate::group::ENV;
use crate::object::parsed;
use crate::shape::{reads, words};

const ONE: &str = "/v1/threads/{thread}/env/{name}";
const ACCOUNT_ONE: &str = "/v1/env/{name}";

/// Where a variable is set. A thread sees the first of these that has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvLayer {
    /// On the thread, or on a thread that it works for.
    Thread,
    /// On the account.
    Account,
    /// In the environment of the server, as `THREADKEEP_ENV_NAME`.
    Instance,
}

words! {
    EnvLayer in "layer": "thread" = Thread, "account" = Account, "instance" = Instance;
}

/// A variable, as a thread or an account sees it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVariable {
    /// The name of the variable.
    pub name: EnvName,
    /// Whether the value may be shown. A thread sees variables of the account and the instance as secrets.
    #[serde(rename = "type")]
    pub kind: EnvType,
    /// Where it is set.
    pub layer: EnvLayer,
    /// The thread on which it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The value. Lists leave out the values of secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What its writer should know, such as that it is too short to be redacted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Values stay out of what programs print of themselves.
impl fmt::Debug for EnvVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, layer, .. } = self;
        f.debug_struct("EnvVariable")
            .field("name", name)
            .field("kind", kind)
            .field("layer", layer)
            .finish_non_exhaustive()
    }
}

macro_rules! named {
    ($($(#[$doc:meta])* $call:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $call {
            /// The name of the variable.
            #[serde(deserialize_with = "parsed")]
            #[schemars(skip)]
            pub name: EnvName,
        }

        impl $call {
            pub(crate) const DECLARATION: Declaration = $declaration;

            /// The same by the text of the name.
            ///
            /// # Errors
            /// If the name breaks a rule.
            pub fn new(name: &str) -> Result<Self, Invalid> {
                Ok(Self { name: name.parse()? })
            }
        }
    )*};
}

macro_rules! setting {
    ($($(#[$doc:meta])* $call:ident = $declaration:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $call {
            /// The name of the variable.
            #[serde(deserialize_with = "parsed")]
            #[schemars(skip)]
            pub name: EnvName,
            /// The value: text, at most 16 KiB. An empty text is a value.
            pub value: String,
            /// Whether the value may be shown. Without it the type stays; new variables are secrets.
            #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
            pub kind: Option<EnvType>,
        }

        impl $call {
            pub(crate) const DECLARATION: Declaration = $declaration;

            /// Sets the variable to this value, and keeps its type.
            ///
            /// # Errors
            /// If the name breaks a rule.
            pub fn new(name: &str, value: impl Into<String>) -> Result<Self, Invalid> {
                Ok(Self { name: name.parse()?, value: value.into(), kind: None })
            }

            /// The same with this type.
            #[must_use]
            pub fn of_type(self, kind: EnvType) -> Self {
                Self { kind: Some(kind), ..self }
            }
        }

        /// Values stay out of what programs print of themselves.
        impl fmt::Debug for $call {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self { name, kind, .. } = self;
                f.debug_struct(stringify!($call)).field("name", name).field("kind", kind).finish_non_exhaustive()
            }
        }
    )*};
}

reads! {
    /// Lists the variables that a thread sees.
    ListEnv = Declaration::get(("env", "listEnv"), "/v1/threads/{thread}/env", ENV)
        .about("Lists the variables that a thread sees, by name: its own, those of the threads it works for, its account's and the instance's. Values of secrets are left out.")
        .gives("The variables.");
    /// Lists the variables of the account.
    ListAccountEnv = Declaration::get(("account-env", "listAccountEnv"), "/v1/env", ENV)
        .about("Lists the variables of the account, by name. Values of secrets are left out.")
        .gives("The variables.");
    /// Lists the variables of the instance.
    ListInstanceEnv = Declaration::get(("instance-env", "listInstanceEnv"), "/v1/admin/env", ENV)
        .about("Lists the names of the instance's variables: those in the server's environment that begin with `THREADKEEP_ENV_`.")
        .gives("The variables, without their values.")
        .needs(Needs::Admin);
}

named! {
    /// Reads a variable as a thread sees it, with its value.
    GetEnv = Declaration::get(("get-env", "getEnv"), ONE, ENV)
        .about("Reads a variable as a thread sees it, with its value, also if it is a secret. Variables of the instance are not read.")
        .gives("The variable.")
        .needs(Needs::Write)
        .fails(&[ErrorCode::EnvNotFound, ErrorCode::SecretsUnavailable]);
    /// Removes a variable of a thread.
    DeleteEnv = Declaration::delete(("delete-env", "deleteEnv"), ONE, ENV)
        .about("Removes a variable of a thread. Its value is deleted.")
        .gives("Whether there was one.");
    /// Reads a variable of the account, with its value.
    GetAccountEnv = Declaration::get(("get-account-env", "getAccountEnv"), ACCOUNT_ONE, ENV)
        .about("Reads a variable of the account, with its value, also if it is a secret.")
        .gives("The variable.")
        .needs(Needs::Write)
        .fails(&[ErrorCode::EnvNotFound, ErrorCode::SecretsUnavailable]);
    /// Removes a variable of the account.
    DeleteAccountEnv = Declaration::delete(("delete-account-env", "deleteAccountEnv"), ACCOUNT_ONE, ENV)
        .about("Removes a variable of the account. Its value is deleted.")
        .gives("Whether there was one.")
        .honours(Honours::NOTHING)
        .fails(&[ErrorCode::Forbidden, ErrorCode::SecretsUnavailable]);
}

setting! {
    /// Sets a variable of a thread. The threads that work for it see it too.
    SetEnv = Declaration::put(("set-env", "setEnv"), ONE, ENV)
        .about("Sets a variable of a thread. The threads that work for it see it too, unless they have one of the same name. The log holds its name and type; the value is sealed.")
        .gives("The variable, without its value.")
        .honours(Honours::SECRET)
        .fails(&[ErrorCode::SecretsUnavailable])
        .example(r#"{"value":"sk-1234567890","type":"secret"}"#);
    /// Sets a variable of the account. Every thread of the account sees it.
    SetAccountEnv = Declaration::put(("set-account-env", "setAccountEnv"), ACCOUNT_ONE, ENV)
        .about("Sets a variable of the account. Every thread of the account sees it, unless it has one of the same name. The value is sealed.")
        .gives("The variable, without its value.")
        .honours(Honours::NOTHING)
        .fails(&[ErrorCode::Forbidden, ErrorCode::SecretsUnavailable])
        .example(r#"{"value":"sk-1234567890","type":"secret"}"#);
}
