// A small world for stories and screenshots: a family of threads with tools, files, values, a merge with conflicts, and
// approvals of an agent.

const ANSWER = `The **hand-written** one. It is smaller, and its errors name the place.

| parser | lines | time |
|---|---:|---:|
| generated | 4,100 | 61 ms |
| by hand | 890 | 14 ms |

\`\`\`rust
fn parse(text: &str) -> Result<Tree, Error> {
    // One pass: every token is looked at once.
    let mut tokens = Lexer::new(text);
    tokens.tree(0)
}
\`\`\`

- [x] fuzzed for an hour
- [ ] errors in German`;

/** Fills a server, and gives the ids of what it holds. */
export async function scene(server) {
  const { call } = server;
  const ask = (...asked) => call.apply(server, asked);
  const ship = await ask("POST", "/v1/threads", { title: "Ship the parser", agentId: "coder", metadata: { tags: ["api"] } });
  const at = `/v1/threads/${ship.id}`;
  await ask("POST", `${at}/messages`, { role: "user", content: "Which parser do we ship? Measure both." });
  await ask("POST", `${at}/messages`, {
    role: "assistant", name: "coder",
    content: [
      { type: "thinking", text: "Both parse the corpus. Speed and error messages decide, so measure them on the same files." },
      { type: "text", text: "I measure both on the same corpus." },
      { type: "tool_use", id: "call-1", name: "run_tests", input: { path: "crates/merge", release: true } },
    ],
  });
  await ask("POST", `${at}/messages`, { role: "tool", name: "run_tests", content: [{ type: "tool_result", toolUseId: "call-1", content: "running 212 tests\ntest result: ok. 212 passed; 0 failed; finished in 1.2 s", isError: false }] });
  await ask("POST", `${at}/messages`, { role: "assistant", name: "coder", content: ANSWER });
  const text = "fn cart() {\n    total();\n}\n";
  await ask("PUT", `${at}/files/src/cart.rs`, text, { headers: { "content-type": "text/x-rust" } });
  await ask("PUT", `${at}/files/notes.md`, "# Notes\n\nBark or straw?\n", { headers: { "content-type": "text/markdown" } });
  await ask("PUT", `${at}/kv/mulch`, '"bark"');
  await ask("PUT", `${at}/kv/budget`, '{"euro": 40, "left": 12.5}');
  await ask("POST", `${at}/checkpoint`, { name: "measured" });
  const fork = await ask("POST", `${at}/fork`, { version: (await ask("GET", at)).v, title: "Try the generated one" });
  const other = `/v1/threads/${fork.id}`;
  await ask("POST", `${other}/messages`, { role: "user", content: "Take the generated parser after all, and keep the grammar file." });
  await ask("POST", `${other}/messages`, { role: "assistant", content: "Done. The grammar lies in `grammar.pest`." });
  await ask("PUT", `${other}/files/grammar.pest`, "tree = { leaf* }\n", { headers: { "content-type": "text/plain" } });
  await ask("PUT", `${other}/files/src/cart.rs`, "fn cart() {\n    total_of(generated);\n}\n", { headers: { "content-type": "text/x-rust" } });
  await ask("PUT", `${other}/kv/mulch`, '"straw"');
  await ask("PUT", `${at}/files/src/cart.rs`, "fn cart() {\n    total_of(by_hand);\n}\n", { headers: { "content-type": "text/x-rust" } });
  await ask("PUT", `${at}/kv/mulch`, '"gravel"');
  await ask("POST", `${at}/messages`, { role: "user", content: "Good. Write the release notes, then delete the old grammar." });
  const handoff = await ask("POST", `${at}/handoff`, { goal: "Benchmark on ARM", summary: "The hand-written parser won on x86.", agentId: "bench" });
  const spawned = await ask("POST", `${at}/spawn`, { intent: "Fix the cart", inherit: "full", agentId: "fixer" });
  const garden = await server.thread("Garden in the shade", "What grows in deep shade?", "Ferns, hostas and ivy. Ivy does not stay small.");
  await ask("POST", `/v1/threads/${garden.id}/mention`, { target: ship.id });
  await ask("POST", `/v1/threads/${garden.id}/lifecycle`, { action: "done" });
  const made = await ask("POST", "/v1/keys", { account: "local", scope: "write", agent: true, name: "coder" });
  const key = { key: made.key };
  const said = (text) => ({ role: "assistant", name: "coder", content: text });
  const model = (inputTokens, outputTokens, costMicros, durationMs) => ({ model: "large-2", messages: 6, usage: { inputTokens, outputTokens, cacheReadTokens: Math.floor(inputTokens / 2), costMicros }, firstResponseMs: 420, durationMs });
  const run = await ask("POST", `${at}/runs`, { executor: "caller" }, key);
  const step = (messages, model) => ask("POST", `/v1/runs/${run.id}/step`, { messages, model }, key);
  await step([{ role: "assistant", name: "coder", content: [{ type: "text", text: "I write the notes first." }, { type: "tool_use", id: "call-2", name: "write_file", input: { path: "/NOTES.md" } }] }], model(5_120, 310, 18_400, 2_900));
  await step([{ role: "tool", name: "write_file", content: [{ type: "tool_result", toolUseId: "call-2", content: "24 lines", isError: false }] }]);
  await step([said("The release notes are in `NOTES.md`. May I delete the old grammar? I asked in your inbox.")], model(5_610, 142, 16_200, 1_800));
  await ask("POST", `/v1/runs/${run.id}/end`, {}, key);
  const approval = await ask("POST", `${at}/transfer`, { direction: "request_approval", scope: ["delete_file"], reason: "The old grammar wilted: nothing uses it any more.", timeout: "PT1H", fallback: "skip" }, key);
  await ask("POST", `${at}/transfer`, { direction: "request_approval", scope: ["deploy"], reason: "Release 1.2 to the staging server." }, key);
  await ask("POST", "/v1/projects", { id: "garden", name: "Garden" });
  await ask("POST", "/v1/memories", { text: "Answers are short, with numbers before opinions." });
  await ask("POST", "/v1/projects/garden/memories", { text: "The shade is deep: ferns and hostas, no ivy." });
  await ask("POST", `${at}/observe`, { target: spawned.threadId, events: ["done", "error_occurred"] });
  await ask("POST", "/v1/search/backfill", {});
  return { ship, fork, handoff, spawned, garden, approval, run, agent: made };
}
