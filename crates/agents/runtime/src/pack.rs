//! A package: the definitions of a folder, for the folders of others.
//!
//! A package has the files that are not in packages themselves. Copied to `packages/ID/`, it loads there, and its names are
//! `ID/NAME`. Code that needs the program around it cannot be packed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use threadkeep_sandbox::{Code, Origin, Status, Value};

use crate::code::is_code;
use crate::definitions::{Definitions, Kind, Problem, is_name};
use crate::{Runtime, RuntimeError};

/// What only the program that runs the code can give.
const NOT_PACKABLE: &str = "_notPackableRuntimeContext";

/// Why there is no package.
#[derive(Debug, thiserror::Error)]
pub enum NotPacked {
    /// The id is no name.
    #[error("a package is named by small letters, digits, '_' and '-'; at most 64")]
    Name,
    /// There is nothing in the folder.
    #[error("there are no definitions to pack")]
    Empty,
    /// These files cannot be packed.
    #[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
    Mistakes(Vec<Problem>),
    /// A file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No worker looks at the code.
    #[error(transparent)]
    Runtime(Box<RuntimeError>),
}

impl From<RuntimeError> for NotPacked {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(Box::new(error))
    }
}

impl Runtime {
    /// Writes the present definitions to the new folder `to`, as the package `id`. Gives the paths of the files in it.
    ///
    /// # Errors
    /// [`NotPacked`]. Nothing is written then.
    pub async fn pack(&self, id: &str, to: &Path) -> Result<Vec<String>, NotPacked> {
        if !is_name(id) {
            return Err(NotPacked::Name);
        }
        let definitions = self.definitions();
        let own = |file: &str| !file.starts_with("packages/");
        let mut problems = self.problems().await?;
        problems.retain(|problem| own(&problem.file));
        if problems.is_empty() {
            problems = self.not_packable(&definitions).await?;
        }
        if !problems.is_empty() {
            return Err(NotPacked::Mistakes(problems));
        }
        let sources = definitions.sources().filter(|(name, _)| name.package.is_none() && !definitions.is_brought(name));
        let files: Vec<(&str, &str)> =
            sources.map(|(_, source)| (source.file.as_str(), source.text.as_str())).collect();
        if files.is_empty() {
            return Err(NotPacked::Empty);
        }
        write(id, to, &files)?;
        Ok(files.into_iter().map(|(file, _)| file.to_owned()).collect())
    }

    /// The places that use what a package cannot have. A worker looks for them in the syntax trees.
    async fn not_packable(&self, definitions: &Definitions) -> Result<Vec<Problem>, RuntimeError> {
        let is_source = |kind: Kind| kind == Kind::Vendor;
        let code = definitions.sources().filter(|(name, _)| {
            let definition = definitions.definition(name);
            let is_code = is_source(name.kind) || definition.is_some_and(|definition| is_code(name, definition));
            name.package.is_none() && !definitions.is_brought(name) && is_code
        });
        let modules: BTreeMap<String, String> =
            code.map(|(_, source)| (source.file.clone(), source.text.clone())).collect();
        let look = Code { modules, find: Some(NOT_PACKABLE.to_owned()), origin: Origin::Definition, ..Code::new("") };
        let outcome = self.sandbox().start(look)?.await?;
        let failed = outcome.error.unwrap_or_default();
        let number = |value: &Value| match value {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "out of range saturates")]
            Value::Number(number) => *number as usize,
            _ => 1,
        };
        Ok(match (outcome.status, outcome.result) {
            (Status::Success, Value::Array(found)) => {
                let problem = |place: Value| {
                    let Value::Array(place) = place else { return None };
                    let [Value::String(file), line, column] = &place[..] else { return None };
                    let what = format!(
                        "`{NOT_PACKABLE}` is not there in a package: pass what the code needs as arguments or variables"
                    );
                    Some(Problem { file: file.clone(), line: number(line), column: number(column), what })
                };
                found.into_iter().filter_map(problem).collect()
            }
            _ => {
                let (line, column) = (failed.line.unwrap_or(1) as usize, failed.column.unwrap_or(1) as usize);
                vec![Problem { file: failed.filename.unwrap_or_default(), line, column, what: failed.message }]
            }
        })
    }
}

/// Writes a package beside its place, loads it from there, and moves it to its place.
fn write(id: &str, to: &Path, files: &[(&str, &str)]) -> Result<(), NotPacked> {
    if to.exists() {
        let what = format!("{} exists already", to.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what).into());
    }
    let beside = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(beside)?;
    let folder = tempfile::Builder::new().prefix(".threadkeep-pack-").tempdir_in(beside)?;
    let package = format!("packages/{id}/");
    for (file, text) in files {
        let place = folder.path().join(&package).join(file);
        fs::create_dir_all(place.parent().unwrap_or(folder.path()))?;
        fs::write(place, text)?;
    }
    let loaded = Definitions::read(folder.path())?;
    let own = |problem: &Problem| {
        let file = problem.file.strip_prefix(&package).unwrap_or(&problem.file).to_owned();
        Problem { file, what: format!("in the package, {}", problem.what), ..problem.clone() }
    };
    let problems: Vec<Problem> = loaded.problems().map(own).collect();
    if !problems.is_empty() {
        return Err(NotPacked::Mistakes(problems));
    }
    fs::rename(folder.path().join(&package), to)?;
    Ok(())
}
