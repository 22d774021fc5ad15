//! Agents need authority for what a tool declares: for that one call with those arguments.

use serde_json::json;

use super::{Story, tool};

#[test]
fn an_approval_is_for_one_call_with_its_arguments() {
    let story = Story::new(&[
        (
            "tools/ship.js",
            &tool("args: z.object({ to: z.string() }), needs: ['deploy'],", "return `shipped to ${args.to}`;"),
        ),
        ("tools/free.js", &tool("", "return 1;")),
    ]);
    let agent = story.agent();
    let ship = |to: &str| story.ask(&agent, "ship", &json!({ "to": to }));
    assert_eq!(story.ask(&agent, "free", &json!({})).0, 200);
    let (status, told) = ship("staging");
    assert_eq!((status, &told["code"]), (403, &json!("approval_required")), "{told}");
    let approval = told["approvalId"].as_str().expect("an approval").to_owned();
    assert_eq!(ship("staging").1["approvalId"], approval.as_str(), "it is asked for once");
    let shown = story.serving.ok("GET", &format!("/v1/approvals/{approval}"), &serde_json::Value::Null);
    assert_eq!(shown["call"], json!({ "tool": "ship", "args": { "to": "staging" } }));
    story.serving.ok("POST", &format!("/v1/approvals/{approval}/approve"), &json!({}));
    let (status, other) = ship("production");
    assert_eq!((status, &other["code"]), (403, &json!("approval_required")), "other arguments are another call");
    assert_ne!(other["approvalId"], approval.as_str());
    assert_eq!(ship("staging").1["result"], "shipped to staging");
    let (status, again) = ship("staging");
    assert_eq!(status, 403, "it was used up: {again}");
    let denied = again["approvalId"].as_str().expect("an approval");
    story.serving.ok("POST", &format!("/v1/approvals/{denied}/deny"), &json!({}));
    assert_eq!(ship("staging").0, 403);
    // A person needs none, and may let the agent do it always.
    assert_eq!(story.gives("ship", &json!({ "to": "here" })), "shipped to here");
    let always = json!({ "direction": "delegate", "scope": ["deploy"] });
    story.serving.ok("POST", &story.path("/transfer"), &always);
    assert_eq!(ship("production").1["result"], "shipped to production");
    assert_eq!(ship("production").1["result"], "shipped to production");
}

#[test]
fn the_calls_of_a_tool_have_the_authority_of_its_caller() {
    let story =
        Story::new(&[("tools/write.js", &tool("", "await state.writeFile('/a.txt', 'x', 'text/plain'); return 1;"))]);
    let agent = story.agent();
    let (status, told) = story.ask(&agent, "write", &json!({}));
    assert_eq!(status, 200, "{told}");
    assert!(told["error"].as_str().is_some_and(|said| said.contains("approval_required")), "{told}");
    assert_eq!(story.gives("write", &json!({})), 1);
}
