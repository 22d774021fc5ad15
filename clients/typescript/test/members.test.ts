// The declaration of ThreadState has the members of the ThreadState interface of Standard Agents, with their types.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import ts from "typescript";

import { RemoteThreadState } from "../src/index.js";

/** The members of the ThreadState interface of Standard Agents, in its order. */
const MEMBERS = [
  "readonly threadId: string",
  "readonly agentId: string",
  "readonly userId: string | null",
  "readonly createdAt: number",
  "readonly children: SubagentRegistryEntry[]",
  "readonly terminated: number | null",
  "getMessages(options?: GetMessagesOptions): Promise<MessagesResult>",
  "getMessage(messageId: string): Promise<Message | null>",
  "injectMessage(input: InjectMessageInput): Promise<Message>",
  "queueMessage(input: QueueMessageInput): Promise<void>",
  "updateMessage(messageId: string, updates: MessageUpdates): Promise<Message>",
  "deleteMessage(messageId: string): Promise<boolean>",
  "loadModel<T = unknown>(name: string): Promise<T>",
  "loadPrompt<T = unknown>(name: string): Promise<T>",
  "loadAgent<T = unknown>(name: string): Promise<T>",
  "getChildThread(referenceId: string): Promise<ThreadState | null>",
  "getParentThread(): Promise<ThreadState | null>",
  "getPromptNames(): string[]",
  "getAgentNames(): string[]",
  "getModelNames(): string[]",
  "env(propertyName: string): Promise<string>",
  "envType(propertyName: string): Promise<'text' | 'secret'>",
  "setEnv(propertyName: string, value: string, options?: { type?: 'text' | 'secret' }): Promise<void>",
  "notifyParent(content: string): Promise<void>",
  "setStatus(status: string): Promise<void>",
  "queueTool(toolName: string, args: Record<string, unknown>): void",
  "invokeTool(toolName: string, args: Record<string, unknown>): Promise<ToolResult>",
  "scheduleEffect(name: string, args: Record<string, unknown>, delay?: number): Promise<string>",
  "getScheduledEffects(name?: string): Promise<ScheduledEffect[]>",
  "removeScheduledEffect(id: string): Promise<boolean>",
  "emit(event: string, data: unknown): void",
  "context: Record<string, unknown>",
  "getValue<T = unknown>(key: string): Promise<T | null>",
  "setValue(key: string, value: unknown): Promise<void>",
  "writeFile(path: string, data: ArrayBuffer | string, mimeType: string, options?: WriteFileOptions): Promise<FileRecord>",
  "readFile(path: string): Promise<ArrayBuffer | null>",
  "readFileStream(path: string, options?: ReadFileStreamOptions): Promise<AsyncIterable<FileChunk> | null>",
  "statFile(path: string): Promise<FileRecord | null>",
  "readdirFile(path: string): Promise<ReaddirResult>",
  "unlinkFile(path: string): Promise<void>",
  "mkdirFile(path: string): Promise<FileRecord>",
  "rmdirFile(path: string): Promise<void>",
  "getFileStats(): Promise<FileStats>",
  "grepFiles(pattern: string): Promise<GrepResult[]>",
  "findFiles(pattern: string): Promise<FindResult>",
  "getFileThumbnail(path: string): Promise<ArrayBuffer | null>",
  "runCode(source: string, options?: CodeExecutionOptions): CodeExecution",
  "execution: ExecutionState | null",
  "terminate(): Promise<void>",
  "readonly _notPackableRuntimeContext?: Record<string, unknown>",
];

/** The fields of the types that the interface itself spells out. */
const FIELDS = {
  ScheduledEffect: ["id: string", "name: string", "args: Record<string, unknown>", "scheduledAt: number", "createdAt: number"],
  SubagentRegistryEntry: [
    "reference: string",
    "name: string",
    "title?: string",
    "description: string",
    "resumable?: boolean",
    "blocking?: boolean",
    "threadName?: string",
    "spawnGroupId?: string",
    "createdAt?: number",
    "status: string",
    "parentCommunication?: 'implicit' | 'explicit'",
  ],
};

const declared = ts.createSourceFile("s.ts", readFileSync("types/thread-state.d.ts", "utf8"), ts.ScriptTarget.Latest, true);

function members(name: string): string[] {
  const found = declared.statements.filter(ts.isInterfaceDeclaration).find((one) => one.name.text === name);
  assert.ok(found, `${name} is declared`);
  return found.members.map((member) => member.getText().replace(/;$/, "").replace(/\s+/g, " "));
}

test("the declaration has every member, with its type", () => {
  assert.deepEqual(members("ThreadState"), MEMBERS);
  for (const [name, fields] of Object.entries(FIELDS)) assert.deepEqual(members(name), fields);
});

test("every member is there at run time", () => {
  const names = MEMBERS.map((member) => /^(?:readonly )?(\w+)/.exec(member)?.[1] as string);
  const fields = ["context", "_notPackableRuntimeContext"]; // Those are fields of each object.
  const missing = names.filter((name) => !fields.includes(name) && !(name in RemoteThreadState.prototype));
  assert.deepEqual(missing, []);
});
