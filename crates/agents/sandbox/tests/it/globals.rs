//! What code sees of the world, and what it does not.

use threadkeep_sandbox::{Code, Given, Status, Value};

use crate::{error, result, run};

#[tokio::test]
async fn what_is_absent_reads_as_undefined() {
    let absent = "process require fetch URL WebSocket WebAssembly crypto setTimeout setInterval setImmediate \
                  clearTimeout queueMicrotask TextEncoder TextDecoder Atomics SharedArrayBuffer performance Intl \
                  Buffer navigator structuredClone Deno Bun";
    let names: Vec<&str> = absent.split_whitespace().collect();
    let source = format!("export default [{}].map((each) => typeof each).join()", names.join(","));
    assert_eq!(result(&source).await, format!("\"{}\"", vec!["undefined"; names.len()].join(",")));
    let unlisted = "export default ['std', 'os', 'bjson', 'print', 'gc', 'scriptArgs', 'DOMException', 'load', '__loadScript'] \
                    .filter((name) => globalThis[name] !== undefined)";
    assert_eq!(result(unlisted).await, "[]");
}

#[tokio::test]
async fn every_global_is_an_intrinsic_or_one_of_ours() {
    let all = result(
        "export default Reflect.ownKeys(globalThis).filter((key) => globalThis[key] !== undefined).map(String).sort()",
    )
    .await;
    assert_eq!(
        all,
        r#"["AggregateError","Array","ArrayBuffer","AsyncDisposableStack","BigInt","BigInt64Array","BigUint64Array","Boolean","DataView","Date","DisposableStack","Error","EvalError","FinalizationRegistry","Float16Array","Float32Array","Float64Array","Function","Infinity","Int16Array","Int32Array","Int8Array","InternalError","Iterator","JSON","Map","Math","NaN","Number","Object","Promise","Proxy","RangeError","ReferenceError","Reflect","RegExp","Set","String","SuppressedError","Symbol","Symbol(Symbol.toStringTag)","SyntaxError","TypeError","URIError","Uint16Array","Uint32Array","Uint8Array","Uint8ClampedArray","WeakMap","WeakRef","WeakSet","console","decodeURI","decodeURIComponent","encodeURI","encodeURIComponent","escape","eval","globalThis","isFinite","isNaN","parseFloat","parseInt","report","unescape"]"#
    );
}

#[tokio::test]
async fn code_is_never_made_from_text() {
    for source in [
        "eval('1')",
        "(0, eval)('1')",
        "globalThis['ev' + 'al']('1')",
        "Function('return 1')()",
        "new Function('return 1')",
        "(() => {}).constructor('return 1')",
        "(async () => {}).constructor('return 1')",
        "(function* () {}).constructor('yield 1')",
        "(async function* () {}).constructor('yield 1')",
        "Object.getPrototypeOf(function () {}).constructor('return 1')",
        "Reflect.construct(Function, ['return 1'])",
        "Reflect.construct(Object, ['return 1'], Function).constructor.constructor('return 1')()",
        "console.log.constructor('return 1')",
        "report.constructor('return 1')",
        "class F extends Function {}; new F('return 1')",
        "[].map.constructor('return 1')",
        "Object.getPrototypeOf((async () => {}).constructor).constructor('return 1')()",
    ] {
        let source = if source.contains(';') {
            source.replacen("; ", "\nexport default () => ", 1)
        } else {
            format!("export default () => {source}")
        };
        let (status, name, message) = error(&source).await;
        assert_eq!((status, name.as_str()), (Status::Error, "EvalError"), "{source}: {message}");
    }
    assert_eq!(result("export default (() => {}) instanceof Function").await, "true");
}

#[tokio::test]
async fn the_console_is_captured_as_text() {
    let source = r#"
        console.log("a", 1, { b: [1, "x"], f() {} }, null, undefined, 2n, -0);
        console.warn(new Map([[1, { a: 1 }]]), new Set(["s"]), new Date(0), /r/g, Symbol("y"));
        console.error(new Uint8Array(2), [[[[[1]]]]]);
        const cycle = { name: "c" }; cycle.self = cycle;
        console.debug(cycle, new (class Point { x = 1 })());
        console.info(new Proxy({}, { get() { throw 1 } }), { get bad() { throw 1 } });
        console.log("%s", "\ud800");
        console.assert(1 > 2, "sum", 3);
        report({ done: 0.5 });
        report(undefined);
    "#;
    let outcome = run(Code::new(source)).await;
    let logs: Vec<String> = outcome.logs.iter().map(|log| format!("{}: {}", log.level, log.message)).collect();
    assert_eq!(
        logs,
        [
            r#"log: a 1 { b: [ 1, "x" ], f: [function f] } null undefined 2n -0"#,
            r#"warn: Map(1) { 1 => { a: 1 } } Set(1) { "s" } 1970-01-01T00:00:00.000Z /r/g Symbol(y)"#,
            "error: Uint8Array [ 0, 0 ] [ [ [ [ [array] ] ] ] ]",
            r#"debug: { name: "c", self: [circular] } Point { x: 1 }"#,
            "info: [proxy] [unreadable]",
            "log: %s \u{fffd}",
            "error: Assertion failed: sum 3",
        ]
    );
    assert_eq!(
        outcome.reports.iter().collect::<Vec<_>>(),
        [Value::Object(vec![("done".to_owned(), Value::Number(0.5))]), Value::Undefined]
    );
}

#[tokio::test]
async fn globals_are_given_and_seen_by_every_module() {
    let mut code = Code::new("import { seen } from './other'; export default [seen, given.x]");
    code.modules.insert("./other.ts".to_owned(), "export const seen: number = given.x + 1".to_owned());
    code.globals.insert("given".to_owned(), Given::Value(Value::Object(vec![("x".to_owned(), Value::Number(1.0))])));
    assert_eq!(run(code).await.result.to_json().to_string(), "[2,1]");
}

#[tokio::test]
async fn dates_are_in_utc_and_time_goes_on() {
    assert_eq!(
        result("export default [new Date(0).getTimezoneOffset(), new Date(0).toString().slice(0, 24)]").await,
        "[0,\"Thu Jan 01 1970 00:00:00\"]"
    );
    assert_eq!(result("export default Date.now() > 1.7e12 && Math.random() !== Math.random()").await, "true");
}
