//! Why the runtime did not do what it was asked.

use threadkeep_calls::{ErrorCode, Problem};
use threadkeep_engine::Error;
use threadkeep_model::Invalid;
use threadkeep_sandbox::Unavailable;

use crate::definitions::{Kind, Problems};

/// Why the runtime did not do what it was asked. A tool that fails is no error: its result says so.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The engine refused, or the store failed.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The definition is missing or broken.
    #[error(transparent)]
    Definition(#[from] Problems),
    /// No worker runs code now.
    #[error(transparent)]
    Sandbox(#[from] Unavailable),
    /// Another part of the program refused.
    #[error("{}", .0.detail)]
    Problem(Problem),
}

impl From<Invalid> for RuntimeError {
    fn from(invalid: Invalid) -> Self {
        Self::Engine(invalid.into())
    }
}

impl From<threadkeep_model::Damaged> for RuntimeError {
    fn from(damaged: threadkeep_model::Damaged) -> Self {
        Self::Engine(damaged.into())
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        let code = match &error {
            RuntimeError::Engine(_) | RuntimeError::Problem(_) => None,
            RuntimeError::Definition(Problems::NotFound { kind, .. }) if *kind == Kind::Tool.word() => {
                Some(ErrorCode::ToolNotFound)
            }
            RuntimeError::Definition(Problems::NotFound { .. }) => Some(ErrorCode::DefinitionNotFound),
            RuntimeError::Definition(Problems::Invalid { .. }) => Some(ErrorCode::DefinitionInvalid),
            RuntimeError::Sandbox(Unavailable::Full) => Some(ErrorCode::SandboxBusy),
            RuntimeError::Sandbox(Unavailable::NotAsked | Unavailable::Weak(_) | Unavailable::Failed(_)) => {
                Some(ErrorCode::SandboxUnavailable)
            }
        };
        match (error, code) {
            (RuntimeError::Engine(error), _) => error.into(),
            (RuntimeError::Problem(problem), _) => problem,
            (error, code) => {
                let code = code.unwrap_or(ErrorCode::Internal);
                Self::new(code.status(), code, error.to_string())
            }
        }
    }
}
