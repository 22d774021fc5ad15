// The run that is open on a thread, as ThreadState shows it.

import type { ExecutionState, Message } from "../../types/thread-state.js";
import type * as t from "../printed/types.js";

/** What a run asks of the state that it belongs to. */
export interface Asking {
  stop(run: string): void;
  forceTurn(run: string, side: "a" | "b"): void;
}

/** A run as it was when the state was loaded. Its signal goes on through later ones. */
export class RemoteExecution implements ExecutionState {
  readonly flowId: string;
  readonly currentSide: "a" | "b";
  readonly stepCount: number;
  readonly sideAStepCount: number;
  readonly sideBStepCount: number;
  readonly stopped: boolean;
  readonly promptPath: string[];
  readonly abortSignal: AbortSignal;

  constructor(
    run: t.ExecutionState,
    readonly messageHistory: Message[],
    abort: AbortController,
    private readonly asking: Asking,
  ) {
    this.flowId = run.flowId;
    this.currentSide = run.currentSide;
    this.stepCount = run.stepCount;
    this.sideAStepCount = run.sideAStepCount;
    this.sideBStepCount = run.sideBStepCount;
    this.stopped = run.stopped;
    this.promptPath = run.promptPath;
    this.abortSignal = abort.signal;
    if (this.stopped) abort.abort();
  }

  forceTurn(side: "a" | "b"): void {
    this.asking.forceTurn(this.flowId, side);
  }

  stop(): void {
    this.asking.stop(this.flowId);
  }
}
