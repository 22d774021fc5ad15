//! Modules, TypeScript, and positions of errors.

use std::collections::BTreeMap;

use threadkeep_sandbox::{Code, Execute, Given, Language, Origin, Status, Value, host_function};

use crate::{error, result, run, sandbox, text};

#[tokio::test]
async fn the_default_export_is_called_or_is_the_result() {
    assert_eq!(result("export default () => 1 + 1").await, "2");
    assert_eq!(result("export default async function () { return await Promise.resolve([1]) }").await, "[1]");
    assert_eq!(result("export default { a: 1 }").await, r#"{"a":1}"#);
    assert_eq!(result("export default Promise.resolve('later')").await, r#""later""#);
    assert_eq!(result("export default { then(f) { f('thenable') } }").await, r#""thenable""#);
    assert_eq!(result("const x = await Promise.resolve(3); export default x").await, "3");
    assert_eq!(run(Code::new("const unused = 1")).await.result, Value::Undefined);
}

#[tokio::test]
async fn execute_names_the_export_and_its_arguments() {
    let mut code = Code::new("export function add(a: number, b: number) { return a + b }");
    code.execute = Some(Execute { function: "add".to_owned(), args: vec![2.0.into(), 3.0.into()] });
    assert_eq!(run(code.clone()).await.result, Value::Number(5.0));
    code.execute = Some(Execute { function: "sub".to_owned(), args: Vec::new() });
    let outcome = run(code).await;
    assert_eq!(outcome.status, Status::LinkError);
    assert_eq!(outcome.error.expect("an error").message, "the module exports no function 'sub'");
}

#[tokio::test]
async fn types_are_removed_and_what_only_typescript_has_works() {
    let source = r#"
        import type { Missing } from "./nowhere";
        enum Colour { Red = 1, Green }
        namespace Space { export const inside = 7 }
        class Box<T> { constructor(public readonly held: T) {} }
        interface Shape { side: number }
        abstract class Base { abstract go(): void }
        const shape = { side: 2 } satisfies Shape as Shape;
        function over(a: string): string; function over(a: number): number; function over(a: any) { return a }
        let definite!: number;
        export default (): unknown[] => [Colour.Green, Colour[1], Space.inside, new Box<string>("b").held, shape!.side, over(3)];
    "#;
    assert_eq!(result(source).await, r#"[2,"Red",7,"b",2,3]"#);
}

#[tokio::test]
async fn relative_modules_are_found_and_nothing_else_is() {
    let mut code = Code::new("import { b } from './lib/a'; import { c } from './c.js'; export default [b, c]");
    code.modules.insert("./lib/a.ts".to_owned(), "export { b } from '../b/index.ts'".to_owned());
    code.modules.insert("./b/index.ts".to_owned(), "export const b: string = 'b'".to_owned());
    code.modules.insert("./c.js".to_owned(), "export const c = 'c'".to_owned());
    assert_eq!(run(code).await.result.to_json().to_string(), r#"["b","c"]"#);
    for specifier in [
        "fs",
        "node:fs",
        "threadkeep",
        "./missing",
        "../main.ts",
        "/etc/passwd",
        "file:///etc/passwd",
        "https://a.example/x.js",
        "data:text/javascript,1",
        "std",
        "os",
        "host:threadkeep",
    ] {
        let (status, name, message) = error(&format!("import x from '{specifier}'; export default x")).await;
        assert_eq!((status, name.as_str()), (Status::LinkError, "LinkError"), "{specifier}");
        assert!(message.contains(specifier), "{message}");
        let (status, ..) = error(&format!("export default () => import('{specifier}')")).await;
        assert_eq!(status, Status::Error, "{specifier}");
    }
    let dynamic = "export default async () => { try { await import('./no') } catch (error) { return error.message } }";
    assert_eq!(result(dynamic).await, r#""there is no module './no', imported by 'main.ts'""#);
}

#[tokio::test]
async fn modules_of_the_host_export_values() {
    let mut code = Code::new(
        "import * as all from 'pkg/config'; import config, { delete as gone } from 'pkg/config'; export default [Object.keys(all), config.name, gone]",
    );
    let exports = [("name", text("n")), ("delete", Value::Bool(true))];
    let exports = exports.map(|(name, value)| (name.to_owned(), Given::Value(value)));
    code.imports.insert("pkg/config".to_owned(), exports.into());
    assert_eq!(run(code.clone()).await.result.to_json().to_string(), r#"[["default","delete","name"],"n",true]"#);
    code.source = "import { other } from 'pkg/config'; export default other".to_owned();
    assert_eq!(run(code.clone()).await.status, Status::LinkError);
    code.imports.insert("./bad".to_owned(), Default::default());
    assert_eq!(run(code.clone()).await.status, Status::LinkError);
    code.imports = [("x".to_owned(), [("a b".to_owned(), Given::Value(Value::Null))].into())].into();
    assert_eq!(run(code).await.status, Status::LinkError);
}

#[tokio::test]
async fn errors_tell_their_place_in_the_source_as_it_was_given() {
    let source = "interface Far {\n  away: string;\n}\n\nenum Kind { A, B }\n\nfunction inner(far: Far): never {\n  const kept: number = far.away.length;\n  if (kept > 2) throw new RangeError('too far');\n}\n\nexport default (): void => {\n  inner({ away: 'far' } as Far);\n};\n";
    for language in [Language::TypeScript, Language::JavaScript] {
        let mut code = Code::new(source);
        code.filename = Some("deep/place.ts".to_owned());
        if language == Language::JavaScript {
            let plain = source.replace("interface Far {\n  away: string;\n}", "\n\n").replace("enum Kind { A, B }", "");
            code.source = plain
                .replace(": Far", "")
                .replace(": never", "")
                .replace(": number", "")
                .replace("(): void", "()")
                .replace(" as Far", "");
            code.filename = Some("deep/place.js".to_owned());
        }
        let (name, language) = (code.filename.clone().expect("a name"), language);
        code.language = language;
        let error = run(code).await.error.expect("it throws");
        assert_eq!((error.name.as_str(), error.message.as_str()), ("RangeError", "too far"));
        assert_eq!(error.filename.as_deref(), Some(name.as_str()));
        assert_eq!((error.line, error.column), (Some(9), Some(27)), "{:?}", error.stack);
        let stack = error.stack.expect("a stack");
        assert_eq!(stack, format!("    at inner ({name}:9:27)\n    at default ({name}:13:3)"));
    }
}

#[tokio::test]
async fn syntax_errors_tell_their_place() {
    let wrong = run(Code::new("const a: number = 1;\nconst b = = 2;\n")).await;
    let error = wrong.error.expect("it does not compile");
    assert_eq!((wrong.status, error.name.as_str()), (Status::LinkError, "SyntaxError"));
    assert_eq!((error.line, error.column, error.filename.as_deref()), (Some(2), Some(11), Some("main.ts")));
    let mut code = Code::new("import './below'");
    code.modules.insert("./below.ts".to_owned(), "\n\nlet x: = 1".to_owned());
    let error = run(code).await.error.expect("it does not compile");
    assert_eq!((error.line, error.filename.as_deref()), (Some(3), Some("below.ts")));
    let mut code = Code::new("let a = 1;\nlet a = 2;");
    code.language = Language::JavaScript;
    let wrong = run(code).await;
    let error = wrong.error.expect("it does not compile");
    assert_eq!(
        (wrong.status, error.name.as_str(), error.line),
        (Status::LinkError, "SyntaxError", Some(2)),
        "{:?}",
        error.stack
    );
}

#[tokio::test]
async fn whatever_is_thrown_is_told() {
    assert_eq!(error("throw 42").await, (Status::Error, "Error".to_owned(), "thrown: 42".to_owned()));
    assert_eq!(error("throw undefined").await.2, "thrown: undefined");
    assert_eq!(error("throw { code: 7 }").await.2, "thrown: { code: 7 }");
    assert_eq!(
        error("export default () => Promise.reject(new TypeError('no'))").await,
        (Status::Error, "TypeError".to_owned(), "no".to_owned())
    );
    let nasty = "throw Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })";
    assert_eq!(error(nasty).await.0, Status::Error);
    let own = "class Own extends Error { name = 'Own' } throw new Own('mine')";
    assert_eq!(error(own).await, (Status::Error, "Own".to_owned(), "mine".to_owned()));
}

#[tokio::test]
async fn modules_that_workers_compile_first_are_for_code_of_definitions_alone() {
    let sandbox = sandbox();
    let source = |text: &str| text.to_owned();
    let library = BTreeMap::from([
        (
            source("own"),
            source(
                "import { twice } from 'own/maths'; import { ask } from 'own/host'; export default () => ask().then(twice);",
            ),
        ),
        (source("own/maths"), source("export const twice = (n) => 2 * n;")),
        (source("@scope/*"), source("export default 'scoped';")),
    ]);
    sandbox.prepare(library, BTreeMap::from([(source("own/host"), vec![source("ask")])]));
    let asked = |origin| {
        let code = Code::new(
            "import own from 'own'; import scoped from '@scope/any'; export default async () => [await own(), scoped];",
        );
        Code { origin, ..code }.function("own/host", "ask", host_function(|_| async { Ok(Value::Number(21.0)) }))
    };
    let run = async |code: Code| sandbox.start(code).expect("there is a place").await.expect("a worker starts");
    assert_eq!(run(asked(Origin::Definition)).await.result, Value::Array(vec![42.0.into(), text("scoped")]));
    let refused = run(asked(Origin::Request)).await;
    assert_eq!(refused.error.expect("an error").message, "there is no module 'own', imported by 'main.ts'");
    let mut brought = asked(Origin::Definition);
    brought
        .library
        .insert(source("own"), source("import { twice } from 'own/maths'; export default async () => twice(1);"));
    assert_eq!(
        run(brought).await.result,
        Value::Array(vec![2.0.into(), text("scoped")]),
        "what code brings comes first"
    );
    let mut small = Code::new("export default 1");
    small.memory_bytes = 1 << 20;
    assert_eq!(run(small).await.status, Status::Success, "they do not count as the code's memory");
}

#[tokio::test]
async fn uses_of_a_name_are_found_in_syntax_trees() {
    let source = "// name\nconst a = 'a name';\nconst { name: b } = a;\nexport const c: string = a?.name + a['name'] + a[`name`];\n";
    let mut code = Code::new("");
    code.modules.insert("tools/x.ts".to_owned(), source.to_owned());
    code.find = Some("name".to_owned());
    let found = run(code.clone()).await.result.to_json();
    let at = |line: u32, column: u32| serde_json::json!(["tools/x.ts", line, column]);
    assert_eq!(found, serde_json::json!([at(3, 9), at(4, 29), at(4, 38), at(4, 51)]));
    code.modules.insert("tools/y.ts".to_owned(), "const = 1".to_owned());
    let failed = run(code).await;
    assert_eq!(
        (failed.status, failed.error.expect("an error").filename.as_deref()),
        (Status::LinkError, Some("tools/y.ts"))
    );
}
