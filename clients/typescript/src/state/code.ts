// Code that runs on the server: its reports as they come, and its result, whatever happens on the way.

import type { CodeExecution, CodeExecutionOptions, CodeExecutionResult } from "../../types/thread-state.js";
import { ThreadkeepError } from "../errors.js";
import { events } from "../sse.js";
import { filled, type Way } from "../way.js";
import { given, strictly } from "./shapes.js";

type Failure = Pick<CodeExecutionResult, "status" | "error">;

/** A run of code. Leaving its stream ends it. */
export class RemoteCode implements CodeExecution {
  running = true;
  readonly reports: unknown[] = [];
  private readonly logs: { level: string; message: string }[] = [];
  private readonly begun = Date.now();
  private readonly leaving = new AbortController();
  private readonly ended: Promise<CodeExecutionResult>;
  private settle!: (result: CodeExecutionResult) => void;

  constructor(way: Way, thread: string, source: string, options: CodeExecutionOptions, before: Promise<unknown>) {
    this.ended = new Promise((resolve) => {
      this.settle = resolve;
    });
    void before.then(() => this.run(way, thread, source, options)).catch((error: unknown) => this.end(failure(error)));
  }

  then<A = CodeExecutionResult, B = never>(
    then?: ((result: CodeExecutionResult) => A | PromiseLike<A>) | null,
    otherwise?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.ended.then(then, otherwise);
  }

  terminate(reason = "the code was terminated"): void {
    this.end({ status: "terminated", error: { name: "terminated", message: reason } });
    this.leaving.abort();
  }

  private async run(way: Way, thread: string, source: string, { report, ...options }: CodeExecutionOptions): Promise<void> {
    let body: string;
    try {
      body = strictly({ ...options, source, stream: true });
    } catch (error) {
      return this.end({ status: "link_error", error: { name: "SerializationError", message: (error as Error).message } });
    }
    const response = await way.send({
      method: "POST",
      path: filled("/v1/threads/{thread}/code", { thread }),
      headers: { "Content-Type": "application/json", Accept: "text/event-stream, application/json" },
      body,
      repeats: false,
      signal: this.leaving.signal,
    });
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return this.finish(await response.json());
    if (response.body === null) return;
    for await (const { event, data } of events(response.body, way.silenceMs)) {
      if (!this.running) return;
      const told = JSON.parse(data) as unknown;
      if (event === "outcome") return this.finish(told);
      if (event === "error") {
        const { code, detail } = told as { code: string; detail: string };
        return this.end({ status: "error", error: { name: code, message: detail } });
      }
      if (event === "log") this.logs.push(told as { level: string; message: string });
      if (event === "report") {
        this.reports.push(told);
        report?.(told);
      }
    }
    this.end({ status: "terminated", error: { name: "fate_unknown", message: `the connection to ${way.url} broke` } });
  }

  /** The outcome that the server tells. */
  private finish(outcome: unknown): void {
    const { error, ...told } = outcome as CodeExecutionResult;
    this.reports.splice(0, Infinity, ...told.reports);
    this.over(error ? { ...told, error: given(error) } : told);
  }

  /** An end that the server does not tell. */
  private end(failure: Failure): void {
    const { reports, logs } = this;
    this.over({ ...failure, reports: [...reports], logs: [...logs], durationMs: Date.now() - this.begun });
  }

  private over(result: CodeExecutionResult): void {
    if (!this.running) return;
    this.running = false;
    this.settle(result);
  }
}

function failure(error: unknown): Failure {
  const name = error instanceof ThreadkeepError ? error.code : (error as Error).name;
  return { status: "error", error: { name, message: (error as Error).message } };
}
