//! Broken code: told with its place when it is used or checked, and it breaks nothing else.

use serde_json::json;

use super::{Story, tool};
use crate::support::{run, threadkeep};

#[test]
fn broken_code_is_told_with_its_place() {
    let whole = tool("", "return 1;");
    let cases: [(&str, String, &str); 8] = [
        ("syntax", "export default {\n  a: ;\n}".into(), "tools/syntax.ts:2:6: SyntaxError: "),
        ("throws", "\n\nthrow new Error('at load');\nexport default 1;".into(), "tools/throws.ts:3:11: Error: at load"),
        ("nothing", "const a = 1;".into(), "tools/nothing.ts:1:1: the module has no default export"),
        (
            "plain",
            "export default { description: 'x' };".into(),
            "tools/plain.ts:1:1: the default export is not made by defineTool",
        ),
        (
            "field",
            whole.replace("description", "timeout: 5,\n  description"),
            "tools/field.ts:2:29: unknown field 'timeout'",
        ),
        (
            "empty",
            "import { defineTool } from 'threadkeep';\nexport default defineTool({ description: 'x' });".into(),
            "tools/empty.ts:1:1: the field 'execute' is missing",
        ),
        ("needs", tool("needs: ['fly'],", "return 1;"), "tools/needs.ts:2:52: 'fly' is no capability"),
        (
            "schema",
            tool("args: { type: 'object', patternProperties: {} },", "return 1;"),
            "tools/schema.ts:2:52: the keyword 'patternProperties' of a schema is not supported",
        ),
    ];
    let files: Vec<(String, &str)> =
        cases.iter().map(|(name, source, _)| (format!("tools/{name}.ts"), source.as_str())).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, source)| (path.as_str(), *source)).collect();
    files.push(("tools/whole.ts", &whole));
    let story = Story::new(&files);
    for (name, _, expected) in &cases {
        let (status, told) = story.ask(story.serving.key(), name, &json!({}));
        assert_eq!((status, &told["code"]), (409, &json!("definition_invalid")), "{told}");
        let said = told["detail"].as_str().expect("a detail");
        assert!(said.contains(expected), "{name}: {said}");
    }
    assert_eq!(story.gives("whole", &json!({})), 1);
    let mut check = threadkeep();
    check.arg("--data").arg(story.folder.path()).args(["agents", "check"]);
    let checked = run(check, b"");
    assert_eq!(checked.code, Some(2));
    for (name, _, expected) in &cases {
        assert!(checked.stdout.contains(expected), "{name}: {checked:?}");
    }
    story.write("tools/syntax.ts", &whole);
    story.reload();
    assert_eq!(story.gives("syntax", &json!({})), 1);
}
