//! Values and calls across the bridge.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use threadkeep_sandbox::{Code, Elements, Execute, HostError, HostFunction, Status, Value, host_function};

use crate::{error, run, text};

/// Code with one host function, `ask` of the module `host`.
fn asking(source: &str, function: HostFunction) -> Code {
    let source = format!("import {{ ask }} from 'host';\n{source}");
    Code::new(source).function("host", "ask", function)
}

fn echo() -> HostFunction {
    host_function(|args| async move { Ok(Value::Array(args)) })
}

#[tokio::test]
async fn every_kind_of_value_crosses_in_both_directions() {
    let all = Value::Array(vec![
        Value::Undefined,
        Value::Null,
        Value::Bool(true),
        Value::Number(-0.0),
        Value::Number(f64::MAX),
        Value::BigInt("-123456789012345678901234567890".to_owned()),
        text("grüß\0e \u{1f600}"),
        Value::Date(1_700_000_000_123.0),
        Value::Object(vec![("__proto__".to_owned(), text("own")), ("constructor".to_owned(), Value::Null)]),
        Value::Map(vec![(Value::Array(vec![Value::Null]), Value::Set(vec![text("s")]))]),
        Value::Buffer(vec![0, 1, 255]),
        Value::Buffer(Vec::new()),
        Value::Typed(Elements::Float64, 1.5_f64.to_le_bytes().to_vec()),
        Value::Typed(Elements::BigUint64, u64::MAX.to_le_bytes().to_vec()),
        Value::Typed(Elements::Uint8Clamped, vec![7]),
    ]);
    let kinds = "(value) => value === null ? 'null' : typeof value === 'object' ? Object.getPrototypeOf(value).constructor.name : typeof value";
    let source = format!(
        "const kinds = {kinds};\nexport default async (all) => [all.map(kinds).join(), Object.hasOwn(all[8], '__proto__'), (await ask(all))[0]]"
    );
    let mut code = asking(&source, echo());
    code.execute = Some(Execute { function: "default".to_owned(), args: vec![all.clone()] });
    let outcome = run(code).await;
    let kinds = "undefined,null,boolean,number,number,bigint,string,Date,Object,Map,ArrayBuffer,ArrayBuffer,Float64Array,BigUint64Array,Uint8ClampedArray";
    assert_eq!(outcome.result, Value::Array(vec![text(kinds), Value::Bool(true), all]), "{:?}", outcome.error);
}

#[tokio::test]
async fn json_shows_what_json_stringify_would_and_the_rest_as_text() {
    let outcome = run(Code::new("export default { u: undefined, n: NaN, i: 1e21, big: 7n, date: new Date(0), map: new Map([[1, 2]]), set: new Set([1]), bytes: new Uint8Array([1, 2]), hole: [, 1] }")).await;
    assert_eq!(
        outcome.result.to_json().to_string(),
        r#"{"n":null,"i":1e+21,"big":"7","date":"1970-01-01T00:00:00.000Z","map":[[1,2]],"set":[1],"bytes":"AQI=","hole":[null,1]}"#
    );
}

#[tokio::test]
async fn what_does_not_cross_is_a_serialization_error() {
    for value in [
        "() => () => 1",
        "Symbol('s')",
        "/r/",
        "new Error('e')",
        "new WeakMap()",
        "new Proxy({}, {})",
        "new Proxy([], {})",
        "Object(1)",
        "(function* () {})()",
        "[[() => 1]]",
        "{ deep: { p: (async () => {})() } }",
        "Object('s')",
        "new WeakRef({})",
        "new DataView(new ArrayBuffer(1))",
        "(() => { const a = []; a.push(a); return a })()",
        "(() => { let a = {}; for (let i = 0; i < 200; i++) a = { a }; return a })()",
        "new Array(2e6)",
        "new Array(2 ** 32 - 1)",
        "'x'.repeat(17 << 20)",
        "Array(2000).fill(Array(1000).fill(0))",
    ] {
        let source = if value.starts_with("() =>") {
            format!("export default {value}")
        } else {
            format!("export default () => ({value})")
        };
        let (status, name, message) = error(&source).await;
        assert_eq!((status, name.as_str()), (Status::Error, "SerializationError"), "{value}: {message}");
    }
    // An instance of a class crosses with its own fields.
    let outcome = run(Code::new("class Point { x = 1; get y() { return 2 } } export default new Point()")).await;
    assert_eq!(outcome.result, Value::Object(vec![("x".to_owned(), Value::Number(1.0))]));
    // So does what only looks like another kind.
    let outcome = run(Code::new("export default { __proto__: Map.prototype }")).await;
    assert_eq!(outcome.result, Value::Object(Vec::new()));
}

#[tokio::test]
async fn host_functions_are_async_and_run_side_by_side() {
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (gate, seen) = (Arc::clone(&open), Arc::clone(&most));
    let function = host_function(move |args| {
        let (open, most) = (Arc::clone(&gate), Arc::clone(&seen));
        async move {
            most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // All sixteen are open before the first one answers.
            while most.load(Ordering::SeqCst) < 16 {
                tokio::task::yield_now().await;
            }
            Ok(args.into_iter().next().unwrap_or_default())
        }
    });
    let code = asking("export default () => Promise.all(Array.from({ length: 16 }, (_, i) => ask(i)))", function);
    let all = (0..16).map(|number| Value::Number(f64::from(number))).collect();
    assert_eq!(run(code).await.result, Value::Array(all));
    assert_eq!(most.load(Ordering::SeqCst), 16);
}

#[tokio::test]
async fn an_error_of_the_host_rejects_with_its_name() {
    let function = host_function(|_| async {
        Err(HostError { name: "version_conflict".to_owned(), message: "read again".to_owned() })
    });
    let code = asking(
        "export default () => ask().catch((error) => [error instanceof Error, error.name, error.message])",
        function,
    );
    assert_eq!(run(code).await.result.to_json().to_string(), r#"[true,"version_conflict","read again"]"#);
}

#[tokio::test]
async fn an_argument_that_does_not_cross_rejects_and_the_host_is_not_called() {
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let function = host_function(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(Value::Null) }
    });
    let code = asking("export default () => ask(() => 1).catch((error) => error.name)", function);
    assert_eq!(run(code).await.result, text("SerializationError"));
    assert_eq!(called.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn changed_intrinsics_do_not_reach_the_bridge() {
    let source = "
        const steal = [];
        const values = [{ a: new Map([[1, new Date(5)]]) }, new Set([2n])];
        globalThis.Promise = class { constructor() { steal.push('promise') } };
        for (const prototype of [Object.prototype, Array.prototype, Map.prototype, Set.prototype, Date.prototype, Function.prototype]) {
            for (const key of Reflect.ownKeys(prototype)) {
                if (key === 'constructor' || typeof key === 'symbol') continue;
                const was = Reflect.getOwnPropertyDescriptor(prototype, key);
                if (was.configurable && typeof was.value === 'function') Reflect.defineProperty(prototype, key, { value() { throw new Error('stolen ' + String(key)) } });
            }
        }
        Object.prototype.toJSON = () => { throw 1 };
        Reflect.apply = Reflect.defineProperty = () => { throw 1 };
        export default async () => [await ask(values[0], values[1]), steal.length];";
    let outcome = run(asking(source, echo())).await;
    let map = Value::Map(vec![(Value::Number(1.0), Value::Date(5.0))]);
    let sent =
        Value::Array(vec![Value::Object(vec![("a".to_owned(), map)]), Value::Set(vec![Value::BigInt("2".to_owned())])]);
    assert_eq!(outcome.result, Value::Array(vec![sent, Value::Number(0.0)]), "{:?}", outcome.error);
}

#[tokio::test]
async fn the_limits_of_the_bridge_are_errors_that_code_can_read() {
    let never = host_function(|_| async { std::future::pending().await });
    let code = asking(
        "export default async () => { for (let i = 0; i < 64; i++) ask(i); return ask(64).catch((error) => [error.name, error.message]) }",
        never,
    );
    assert_eq!(
        run(code).await.result.to_json().to_string(),
        r#"["LimitError","more than 64 host calls wait for an answer"]"#
    );
    let quiet = host_function(|_| async { Ok(Value::Undefined) });
    let code = asking(
        "export default async () => { const big = new Uint8Array(8 << 20); let i = 0; try { for (; i < 20; i++) await ask(big) } catch (error) { return [error.name, i] } }",
        quiet,
    );
    assert_eq!(run(code).await.result.to_json().to_string(), r#"["LimitError",7]"#);
    let code = Code::new(
        "let i = 0; export default () => { try { for (; i < 100; i++) report('x'.repeat(1 << 20)) } catch (error) { return [error.name, i] } }",
    );
    assert_eq!(run(code).await.result.to_json().to_string(), r#"["LimitError",3]"#);
    let outcome = run(Code::new(
        "for (let i = 0; i < 40000; i++) console.log(''); console.log('x'.repeat(100)); export default 1",
    ))
    .await;
    assert_eq!((outcome.status, outcome.logs.len()), (Status::Success, (1 << 20) / 64));
}
