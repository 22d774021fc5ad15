//! Modules that code may import: the sources it brought, and the modules that the host gives. Nothing else.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Module, Object, Persistent};

use super::typescript::{Positions, compile};
use crate::code::{Failure, Language};

/// Begins the names of the host's modules, which no relative specifier can.
const HOST: &str = "host:";

/// The modules of a run, and what is known of those that were compiled. The engine holds on to it before there is a run.
#[derive(Clone, Default)]
pub(super) struct Modules(Rc<Shared>);

#[derive(Default)]
struct Shared {
    known: OnceCell<Known>,
    positions: RefCell<HashMap<String, Positions>>,
    /// Why compiling failed, more exactly than an exception can tell.
    failure: RefCell<Option<Failure>>,
}

struct Known {
    language: Language,
    /// Sources by their normal names: `lib/a.ts` for `./lib/a.ts`.
    sources: BTreeMap<String, String>,
    /// The names that the host's modules export.
    exports: BTreeMap<String, Vec<String>>,
    /// The values of the host's modules, by their names.
    values: Persistent<Object<'static>>,
}

impl Modules {
    /// Gives a run its modules: sources by their specifiers, and what the host's modules export.
    ///
    /// # Errors
    /// Names what no import could find or name.
    pub(super) fn give(
        &self,
        language: Language,
        sources: &BTreeMap<String, String>,
        exports: BTreeMap<String, Vec<String>>,
        values: Persistent<Object<'static>>,
    ) -> Result<(), String> {
        let mut normal = BTreeMap::new();
        for (specifier, source) in sources {
            match joined("", specifier) {
                Some(name) if specifier.starts_with('.') => drop(normal.insert(name, source.clone())),
                _ => {
                    return Err(format!("the module '{specifier}' is not named by a relative specifier such as './a'"));
                }
            }
        }
        for (module, names) in &exports {
            if module.is_empty() || module.starts_with(['.', '/']) || module.contains('\0') {
                return Err(format!("the import '{module}' is not named by a bare specifier"));
            }
            if let Some(name) = names.iter().find(|name| !is_identifier(name)) {
                return Err(format!("the import '{module}' exports '{name}', which is no identifier"));
            }
        }
        let known = Known { language, sources: normal, exports, values };
        self.0.known.set(known).map_err(|_| "a worker runs once".to_owned())
    }

    /// The text that runs for a source.
    pub(super) fn compiled(&self, name: &str, source: &str) -> Result<String, Failure> {
        let javascript = match name.rsplit_once('.') {
            Some((_, "js" | "mjs")) => true,
            Some((_, "ts" | "mts")) => false,
            _ => self.0.known.get().is_some_and(|known| known.language == Language::JavaScript),
        };
        if javascript {
            return Ok(source.to_owned());
        }
        let (code, positions) = compile(name, source)?;
        self.0.positions.borrow_mut().insert(name.to_owned(), positions);
        Ok(code)
    }

    /// The original position in a module.
    pub(super) fn original(&self, name: &str, line: u32, column: u32) -> (u32, u32) {
        let positions = self.0.positions.borrow();
        positions.get(name).map_or((line, column), |positions| positions.original(line, column))
    }

    /// Why a module could not be compiled.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.0.failure.borrow_mut().take()
    }

    /// The name of the module that `specifier` means in `base`.
    fn found(&self, base: &str, specifier: &str) -> Option<String> {
        let known = self.0.known.get()?;
        if !specifier.starts_with("./") && !specifier.starts_with("../") {
            return known.exports.contains_key(specifier).then(|| format!("{HOST}{specifier}"));
        }
        let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = joined(folder, specifier)?;
        let endings = ["", ".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"];
        endings.iter().map(|ending| format!("{name}{ending}")).find(|name| known.sources.contains_key(name))
    }
}

/// `specifier` below `folder`, without `.` and `..`; none if it leads out.
fn joined(folder: &str, specifier: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_identifier(name: &str) -> bool {
    let begins = |first: char| first.is_alphabetic() || first == '_' || first == '$';
    name.chars().next().is_some_and(begins) && name.chars().all(|each| begins(each) || each.is_numeric())
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        // A module that code imports by its own name, as an import of itself.
        self.found(base, name).ok_or_else(|| {
            let message = format!("there is no module '{name}', imported by '{base}'");
            *self.0.failure.borrow_mut() =
                Some(Failure { filename: Some(base.to_owned()), ..Failure::new("LinkError", message.clone()) });
            Exception::throw_message(ctx, &message)
        })
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let known = self.0.known.get().ok_or(rquickjs::Error::Unknown)?;
        if let Some(host) = name.strip_prefix(HOST) {
            return known.declare_host(ctx, name, host);
        }
        let source = known.sources.get(name).map_or("", String::as_str);
        match self.compiled(name, source) {
            Ok(code) => Module::declare(ctx.clone(), name, code),
            Err(failure) => {
                let thrown = Exception::throw_syntax(ctx, &failure.message);
                *self.0.failure.borrow_mut() = Some(failure);
                Err(thrown)
            }
        }
    }
}

impl Known {
    /// A module whose exports are values of the host. They come in by its `import.meta`, which no other module sees.
    fn declare_host<'js>(&self, ctx: &Ctx<'js>, name: &str, host: &str) -> rquickjs::Result<Module<'js, Declared>> {
        let exports = self.exports.get(host).map_or(&[][..], Vec::as_slice);
        let mut source = String::from("const given = import.meta.given;\n");
        for (index, export) in exports.iter().enumerate() {
            source.push_str(&format!(
                "const given{index} = given[\"{export}\"];\nexport {{ given{index} as {export} }};\n"
            ));
        }
        if !exports.iter().any(|export| export == "default") {
            source.push_str("export default given;\n");
        }
        let module = Module::declare(ctx.clone(), name, source)?;
        let values: Object<'js> = self.values.clone().restore(ctx)?;
        module.meta()?.set("given", values.get::<_, Object<'js>>(host)?)?;
        Ok(module)
    }
}
