//! Modules that code may import: the sources it brought, and the modules that the host gives. Nothing else.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Module, Object, Persistent};

use super::typescript::{Positions, compile};
use crate::code::{Failure, Language};
use crate::task::Library;

/// Begins the names of the host's modules, which no relative specifier can.
const HOST: &str = "host:";
/// Begins the names of the host's modules that compiled modules import. Their values come with the run.
const OWN_HOST: &str = "own-host:";
/// Begins the names of modules that are compiled before there is a run.
const LIBRARY: &str = "library:";
/// Begins the names of modules that a run brings, and imports by bare names. They come before ours.
const VENDOR: &str = "vendor:";

/// The modules of a run, and what is known of those that were compiled. The engine holds on to it before there is a run.
#[derive(Clone, Default)]
pub(super) struct Modules(Rc<Shared>);

#[derive(Default)]
struct Shared {
    own: RefCell<Own>,
    known: OnceCell<Known>,
    positions: RefCell<HashMap<String, Positions>>,
    /// Why compiling failed, more exactly than an exception can tell.
    failure: RefCell<Option<Failure>>,
}

/// Modules that are compiled before there is a run.
#[derive(Default)]
struct Own {
    sources: BTreeMap<String, String>,
    /// The names that the host's modules export to them.
    exports: BTreeMap<String, Vec<String>>,
    compiled: BTreeSet<String>,
    /// Where those get their values from.
    metas: BTreeMap<String, Persistent<Object<'static>>>,
}

struct Known {
    language: Language,
    /// Whether it may import what was compiled before.
    is_definition: bool,
    /// Sources by their normal names: `lib/a.ts` for `./lib/a.ts`.
    sources: BTreeMap<String, String>,
    /// Sources by their bare names.
    library: BTreeMap<String, String>,
    /// The names that the host's modules export.
    exports: BTreeMap<String, Vec<String>>,
    /// The values of the host's modules, by their names.
    values: Persistent<Object<'static>>,
}

impl Modules {
    /// Takes the modules to compile before there is a run. Gives their names.
    pub(super) fn prepare(&self, (sources, exports): Library) -> Vec<String> {
        let names = sources.keys().cloned().collect();
        *self.0.own.borrow_mut() = Own { sources, exports, ..Own::default() };
        names
    }

    /// The name and the source of a module that has to be compiled; none if another one imported it.
    pub(super) fn uncompiled(&self, name: &str) -> Option<(String, String)> {
        let mut own = self.0.own.borrow_mut();
        let source = own.sources.get(name)?.clone();
        own.compiled.insert(name.to_owned()).then(|| (format!("{LIBRARY}{name}"), source))
    }

    /// Gives the modules that were compiled before what the host's modules export.
    pub(super) fn give_own<'js>(&self, ctx: &Ctx<'js>, imports: &Object<'js>) -> rquickjs::Result<()> {
        for (host, meta) in &self.0.own.borrow().metas {
            meta.clone().restore(ctx)?.set("given", imports.get::<_, rquickjs::Value<'js>>(host.as_str())?)?;
        }
        Ok(())
    }

    /// Gives a run its modules: sources by relative specifiers and by bare names, and what the host's modules export.
    ///
    /// # Errors
    /// Names what no import could find or name.
    pub(super) fn give(
        &self,
        (language, is_definition): (Language, bool),
        (sources, library): (&BTreeMap<String, String>, &BTreeMap<String, String>),
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
        let known = Known { language, is_definition, sources: normal, library: library.clone(), exports, values };
        self.0.known.set(known).map_err(|_| "a worker runs once".to_owned())
    }

    /// The text that runs for a source.
    pub(super) fn compiled(&self, name: &str, source: &str) -> Result<String, Failure> {
        let javascript = match name.rsplit_once('.') {
            _ if name.starts_with(LIBRARY) || name.starts_with(VENDOR) => true,
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
        if !specifier.starts_with("./") && !specifier.starts_with("../") {
            return self.found_bare(specifier);
        }
        let known = self.0.known.get()?;
        if base.starts_with(LIBRARY) || base.starts_with(VENDOR) {
            return None;
        }
        let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = joined(folder, specifier)?;
        let endings = ["", ".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"];
        endings.iter().map(|ending| format!("{name}{ending}")).find(|name| known.sources.contains_key(name))
    }
}

impl Modules {
    /// The module that a bare specifier means: one of the host, one that the run brought, one that was compiled before.
    fn found_bare(&self, specifier: &str) -> Option<String> {
        let own = self.0.own.borrow();
        let scope = specifier.split_once('/').map(|(scope, _)| format!("{scope}/*"));
        let names: Vec<String> = [Some(specifier.to_owned()), scope].into_iter().flatten().collect();
        let compiled = || {
            let found = names.iter().find(|name| own.sources.contains_key(*name));
            found.map(|name| format!("{LIBRARY}{name}"))
        };
        let Some(known) = self.0.known.get() else {
            let is_host = own.exports.contains_key(specifier);
            return if is_host { Some(format!("{OWN_HOST}{specifier}")) } else { compiled() };
        };
        if known.exports.contains_key(specifier) {
            return Some(format!("{HOST}{specifier}"));
        }
        let brought = names.iter().find(|name| known.library.contains_key(*name));
        let brought = brought.map(|name| format!("{VENDOR}{name}"));
        brought.or_else(|| compiled().filter(|_| known.is_definition))
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
        if let Some(host) = name.strip_prefix(OWN_HOST) {
            return self.declare_own_host(ctx, name, host);
        }
        if let Some(own) = name.strip_prefix(LIBRARY) {
            let (_, source) = self.uncompiled(own).ok_or(rquickjs::Error::Unknown)?;
            return Module::declare(ctx.clone(), name, source);
        }
        let known = self.0.known.get().ok_or(rquickjs::Error::Unknown)?;
        if let Some(host) = name.strip_prefix(HOST) {
            return known.declare_host(ctx, name, host);
        }
        let source = match name.strip_prefix(VENDOR) {
            Some(name) => known.library.get(name),
            None => known.sources.get(name),
        };
        let source = source.map_or("", String::as_str);
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
        let module = Module::declare(ctx.clone(), name, host_source(exports))?;
        let values: Object<'js> = self.values.clone().restore(ctx)?;
        module.meta()?.set("given", values.get::<_, Object<'js>>(host)?)?;
        Ok(module)
    }
}

impl Modules {
    /// The same for modules that are compiled before there is a run: the values come with it.
    fn declare_own_host<'js>(&self, ctx: &Ctx<'js>, name: &str, host: &str) -> rquickjs::Result<Module<'js, Declared>> {
        let exports = self.0.own.borrow().exports.get(host).cloned().unwrap_or_default();
        let module = Module::declare(ctx.clone(), name, host_source(&exports))?;
        let meta = Persistent::save(ctx, module.meta()?);
        self.0.own.borrow_mut().metas.insert(host.to_owned(), meta);
        Ok(module)
    }
}

/// The source of a module that exports what it is given.
fn host_source(exports: &[String]) -> String {
    let mut source = String::from("const given = import.meta.given;\n");
    for (index, export) in exports.iter().enumerate() {
        source
            .push_str(&format!("const given{index} = given[\"{export}\"];\nexport {{ given{index} as {export} }};\n"));
    }
    if !exports.iter().any(|export| export == "default") {
        source.push_str("export default given;\n");
    }
    source
}
