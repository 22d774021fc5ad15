// Definitions for tests: an agent, its prompt and model, a tool, and an effect.

export const definitions: Record<string, string> = {
  "agents/helper.toml": 'type = "ai_human"\ndescription = "Helps."\n\n[sideA]\nprompt = "helper"\n',
  "prompts/helper.toml": 'prompt = "You help."\nmodel = "default"\ntools = ["count_words"]\n',
  "agents/clerk.toml": 'type = "ai_human"\n\n[sideA]\nprompt = "clerk"\n',
  "prompts/clerk.toml":
    'prompt = "File."\nmodel = "default"\n[[variables]]\nname = "TOKEN"\ntype = "text"\nrequired = true\nscoped = true\ndescription = "Opens the archive"\n',
  "models/default.toml": 'provider = "openai"\nmodel = "llama3.2"\nbaseUrl = "http://127.0.0.1:9/v1"\n',
  "tools/count_words.ts": `
    import { defineTool, z } from "threadkeep";
    export default defineTool({
      description: "Counts the words of a text",
      args: z.object({ text: z.string() }),
      execute: async (state, args) => {
        if (args.text === "") throw new Error("there is no text");
        return { status: "success", result: args.text.split(" ").length };
      },
    });`,
  "effects/remind.ts": `
    import { defineEffect, z } from "threadkeep";
    export default defineEffect({
      description: "Reminds",
      schema: z.object({ text: z.string() }),
      handler: async (state, args) => {
        await state.injectMessage({ role: "assistant", content: args.text });
      },
    });`,
};
