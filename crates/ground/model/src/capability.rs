//! Capabilities: the things that an agent may have to ask for.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::text::as_text;

/// An action that an agent may have to ask for: one of the standard list, or the use of a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the standard list")]
pub enum Capability {
    Read,
    Search,
    Analyze,
    CodeEdit,
    TestRun,
    DeleteFile,
    ExecuteCommand,
    ApproveMerge,
    Deploy,
    /// May delete a thread.
    DeleteThread,
    /// Changing the visibility or the owner of a thread.
    Publish,
    /// Changing the environment of a thread.
    SetEnv,
    /// The use of the tool of this name: `tool:NAME`.
    Tool(String),
}

/// The default for a capability: whether a human has to approve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorisation {
    /// Agents may use it without asking.
    Auto,
    /// A human has to approve it.
    RequireHuman,
}

impl Capability {
    /// All capabilities but tools.
    pub const STANDARD: [Capability; 12] = [
        Self::Read,
        Self::Search,
        Self::Analyze,
        Self::CodeEdit,
        Self::TestRun,
        Self::DeleteFile,
        Self::ExecuteCommand,
        Self::ApproveMerge,
        Self::Deploy,
        Self::DeleteThread,
        Self::Publish,
        Self::SetEnv,
    ];

    /// Longest name of a tool, in bytes.
    pub const TOOL_BYTES_MAX: usize = 255;

    /// Most capabilities that are asked for or given at once.
    pub const SCOPE_MAX: usize = 100;

    /// The authorisation that holds by default.
    pub fn authorisation(&self) -> Authorisation {
        match self {
            Self::Read | Self::Search | Self::Analyze | Self::TestRun => Authorisation::Auto,
            Self::CodeEdit
            | Self::DeleteFile
            | Self::ExecuteCommand
            | Self::ApproveMerge
            | Self::Deploy
            | Self::DeleteThread
            | Self::Publish
            | Self::SetEnv
            | Self::Tool(_) => Authorisation::RequireHuman,
        }
    }

    /// `scope` in a fixed order, each capability once.
    ///
    /// # Errors
    /// If it is empty or has more than [`Capability::SCOPE_MAX`] capabilities.
    pub fn scope(mut scope: Vec<Self>) -> Result<Vec<Self>, Invalid> {
        scope.sort();
        scope.dedup();
        if scope.is_empty() || scope.len() > Self::SCOPE_MAX {
            return Err(Invalid::body("scope", format!("names 1 to {} capabilities", Self::SCOPE_MAX)));
        }
        Ok(scope)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Analyze => "analyze",
            Self::CodeEdit => "code_edit",
            Self::TestRun => "test_run",
            Self::DeleteFile => "delete_file",
            Self::ExecuteCommand => "execute_command",
            Self::ApproveMerge => "approve_merge",
            Self::Deploy => "deploy",
            Self::DeleteThread => "delete_thread",
            Self::Publish => "publish",
            Self::SetEnv => "set_env",
            Self::Tool(name) => return write!(f, "tool:{name}"),
        })
    }
}

impl FromStr for Capability {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(tool) = text.strip_prefix("tool:") {
            // A name that loses its null bytes would be that of another tool.
            if tool.trim().is_empty() || tool.len() > Self::TOOL_BYTES_MAX || tool.contains('\0') {
                let max = Self::TOOL_BYTES_MAX;
                let rule = format!("the name of a tool has 1 to {max} bytes, is not blank, and has no null bytes");
                return Err(Invalid::body("scope", rule));
            }
            return Ok(Self::Tool(tool.to_owned()));
        }
        Self::STANDARD.into_iter().find(|known| known.to_string() == text).ok_or_else(|| {
            let known = Self::STANDARD.map(|known| known.to_string()).join(", ");
            let shown: String = text.chars().take(64).collect();
            Invalid::body("scope", format!("'{shown}' is none of {known} and tool:NAME"))
        })
    }
}

as_text!(Capability);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_the_standard_list_and_tools_by_name() {
        let auto: Vec<String> = Capability::STANDARD
            .into_iter()
            .filter(|capability| capability.authorisation() == Authorisation::Auto)
            .map(|capability| capability.to_string())
            .collect();
        assert_eq!(auto, ["read", "search", "analyze", "test_run"]);
        for capability in Capability::STANDARD.into_iter().chain([Capability::Tool("web.fetch".into())]) {
            assert_eq!(capability.to_string().parse(), Ok(capability));
        }
        for wrong in ["", "Read", "write", "tool:", "tool: ", "tool:web\0", "code-edit"] {
            assert!(wrong.parse::<Capability>().is_err(), "{wrong}");
        }
    }
}
