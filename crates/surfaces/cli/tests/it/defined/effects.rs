//! Effects of definitions: scheduled by tools in the commit of their result, carried out by code.

use serde_json::{Value, json};

use crate::support::eventually;
use crate::tools::{Story, tool};

fn effect(fields: &str, body: &str) -> String {
    format!(
        "import {{ defineEffect, z }} from \"threadkeep\";\nexport default defineEffect({{ description: \"an effect\", {fields} \
         handler: async (state, args) => {{ {body} }} }});\n"
    )
}

impl Story {
    /// The entries of a kind in the log of the thread.
    fn logged(&self, kind: &str) -> Vec<Value> {
        let history = self.get("/history?limit=1000");
        let entries = history["items"].as_array().expect("items").iter();
        entries.filter(|entry| entry["kind"] == kind).cloned().collect()
    }

    /// How effects ended, once this many have.
    fn ends(&self, count: usize) -> Vec<Value> {
        let mut ends = Vec::new();
        eventually("effects end", || {
            ends = self.logged("effect_ended");
            ends.len() >= count
        });
        assert_eq!(ends.len(), count, "{ends:?}");
        ends
    }

    fn pending(&self) -> usize {
        self.get("/effects")["items"].as_array().map_or(0, Vec::len)
    }
}

#[test]
fn what_a_tool_schedules_is_committed_with_its_result_or_not_at_all() {
    let hour = "3600000";
    let story = Story::new(&[
        ("effects/remind.ts", &effect("schema: z.object({ to: z.string() }),", "")),
        ("packages/kit/effects/ping.ts", &effect("", "")),
        (
            "tools/good.js",
            &tool(
                "",
                &format!(
                    "const id = await state.scheduleEffect('remind', {{ to: 'ann' }}, {hour});
                     await state.scheduleEffect('kit/ping', {{}}, {hour});
                     const gone = await state.scheduleEffect('kit/ping', {{}}, {hour});
                     const removed = [await state.removeScheduledEffect(gone), await state.removeScheduledEffect(gone)];
                     const [first] = await state.getScheduledEffects('remind');
                     return {{ id, removed, first, all: (await state.getScheduledEffects()).map((one) => one.name) }};"
                ),
            ),
        ),
        ("tools/bad.js", &tool("", "await state.scheduleEffect('remind', { to: 'ann' }); throw new Error('no');")),
        ("tools/odd.js", &tool("", "await state.scheduleEffect('remnid', {});")),
        ("tools/wrong.js", &tool("", "await state.scheduleEffect('remind', { to: 1 });")),
        ("tools/late.js", &tool("", "await state.scheduleEffect('remind', { to: 'ann' }, -1);")),
        (
            "tools/outer.js",
            &tool("", "return (await state.invokeTool('good')).status + (await state.invokeTool('bad')).status;"),
        ),
        (
            "tools/list.js",
            &tool(
                "args: z.object({ id: z.string() }),",
                "return [(await state.getScheduledEffects('remind')).map((one) => one.id), await state.removeScheduledEffect(args.id)];",
            ),
        ),
    ]);
    for (name, why) in
        [("bad", "no"), ("odd", "remnid"), ("wrong", "args.to: is number, not string"), ("late", "delay")]
    {
        let told = story.fails(name, &json!({}));
        assert!(told.contains(why), "{told}");
        assert_eq!(story.pending(), 0, "{name} schedules nothing");
    }
    let told = story.gives("good", &json!({}));
    assert_eq!((&told["removed"], &told["all"]), (&json!([true, false]), &json!(["remind", "kit/ping"])));
    let first = &told["first"];
    assert_eq!((&first["id"], &first["args"]), (&told["id"], &json!({ "to": "ann" })));
    let micros = |name: &str| first[name].as_u64().expect("microseconds");
    assert_eq!(micros("scheduledAt") - micros("createdAt"), 3_600_000_000);
    let listed = story.get("/effects");
    assert_eq!((&listed["items"][0]["id"], story.pending()), (&told["id"], 2), "{listed}");
    // The result and its effects are one commit: nothing lies between them.
    let history = story.get("/history?limit=1000");
    let kinds: Vec<_> = history["items"].as_array().expect("items").iter().map(|entry| entry["kind"].clone()).collect();
    let at = kinds.iter().position(|kind| kind == "effect_scheduled").expect("an effect");
    assert_eq!(kinds[at - 1..at + 2], [json!("event_logged"), json!("effect_scheduled"), json!("effect_scheduled")]);
    assert_eq!(story.gives("outer", &json!({})), "successerror");
    assert_eq!(story.pending(), 4, "what an inner tool scheduled comes with the outer result");
    let listed = story.gives("list", &json!({ "id": told["id"] }));
    assert_eq!((listed[0].as_array().map(Vec::len), &listed[1]), (Some(2), &json!(true)), "a tool sees what is stored");
    assert_eq!(story.pending(), 3);
}

#[test]
fn a_commit_that_refuses_the_effects_stores_an_error_without_them() {
    let story = Story::new(&[
        ("effects/remind.js", &effect("", "")),
        (
            "tools/late.js",
            &tool("", "await state.scheduleEffect('remind', {}, 3600000); await state.terminate(); return 'done';"),
        ),
    ]);
    let told = story.invoke("late", &json!({}));
    assert_eq!((&told["status"], story.pending()), (&json!("error"), 0), "{told}");
}

#[test]
fn an_effect_in_code_runs_for_the_actor_who_scheduled_it_with_no_execution() {
    let body = "const said = await state.injectMessage({ role: 'assistant', content: `Dear ${args.to}, ${await state.env('CITY')} ${state.execution}` });
        await state.queueMessage({ role: 'user', content: 'and now?' });
        if (args.again) await state.scheduleEffect('remind', { to: 'bob' });";
    let fields = "schema: z.object({ to: z.string(), again: z.boolean().optional() }), variables: [{ name: 'CITY' }],";
    let story = Story::new(&[
        ("effects/remind.ts", &effect(fields, body)),
        ("tools/plan.js", &tool("", "return await state.scheduleEffect('remind', { to: 'ann', again: true });")),
    ]);
    story.serving.ok("PUT", &story.path("/env/CITY"), &json!({ "value": "Rome", "type": "text" }));
    let id = story.gives("plan", &json!({}));
    let ends = story.ends(2);
    assert!(ends.iter().all(|end| end["data"]["outcome"] == "completed"), "{ends:?}");
    assert_eq!(story.serving.messages(&story.thread), ["Dear ann, Rome null", "Dear bob, Rome null"]);
    assert_eq!(story.get("/queue")["items"].as_array().map(Vec::len), Some(2));
    let first = story.logged("message_appended").remove(0);
    let called = story.logged("event_logged").remove(0);
    assert_eq!((&first["actor"], &first["cause"]), (&called["actor"], &id), "{first}");
}

#[test]
fn a_handler_that_fails_is_tried_three_times_and_holds_nothing_back() {
    let body = "await state.setValue('tries', ((await state.getValue('tries')) ?? 0) + 1);
        await state.queueMessage({ role: 'user', content: 'never' }); throw new TypeError('no way');";
    let story = Story::new(&[
        ("effects/fail.js", &effect("", body)),
        ("effects/strict.js", &effect("schema: z.object({ to: z.string() }),", "")),
    ]);
    story.serving.ok("POST", &story.path("/effects"), &json!({ "name": "fail" }));
    let end = story.ends(1).remove(0).to_string();
    assert!(end.contains("failed") && end.contains("TypeError: no way (effects/fail.js:3:"), "{end}");
    assert_eq!(story.get("/kv/tries")["value"], 3);
    assert_eq!(story.get("/queue")["items"], json!([]));
    story.serving.ok("POST", &story.path("/effects"), &json!({ "name": "strict", "args": { "to": 1 } }));
    let end = story.ends(2).remove(1).to_string();
    assert!(end.contains("the arguments are wrong: args.to: is number, not string"), "{end}");
    let (status, refused) = story
        .serving
        .ask("POST", &story.path("/effects"), story.serving.key(), r#"{"name":"nobody"}"#)
        .expect("an answer");
    assert_eq!((status, &refused["code"]), (404, &json!("effect_not_found")));
}

#[test]
fn an_effect_whose_file_is_broken_waits_until_it_is_mended() {
    let story = Story::new(&[("effects/remind.ts", "this is no code"), ("effects/other.ts", &effect("", ""))]);
    story.serving.ok("POST", &story.path("/effects"), &json!({ "name": "remind" }));
    story.serving.ok("POST", &story.path("/effects"), &json!({ "name": "other" }));
    story.ends(1);
    assert_eq!(story.get("/effects")["items"][0]["name"], "remind");
    story.write("effects/remind.ts", &effect("", ""));
    story.reload();
    story.ends(2);
}

#[test]
fn queueing_on_another_thread_reaches_that_thread() {
    let story = Story::new(&[
        ("effects/remind.js", &effect("", "")),
        (
            "tools/tell.js",
            &tool(
                "",
                "const parent = await state.getParentThread(); await parent.queueMessage({ role: 'user', content: 'from below' }); return await parent.scheduleEffect('remind', {}, 3600000);",
            ),
        ),
    ]);
    let child = story.serving.ok("POST", &story.path("/children"), &json!({ "name": "below" }));
    let child = child["id"].as_str().expect("a child").to_owned();
    let path = format!("/v1/threads/{child}/tools/tell/invoke");
    let told = story.serving.ok("POST", &path, &json!({}));
    assert_eq!(told["status"], "success", "{told}");
    let queued = story.get("/queue");
    assert!(queued.to_string().contains("from below"), "{queued}");
    assert_eq!(story.get("/effects")["items"][0]["id"], told["result"]);
}
