// The run that is open on a thread, as ThreadState shows it.

import type { ExecutionState, Message } from "../../types/thread-state.js";
import type { Run } from "../printed/types.js";

/** What a run asks of the state that it belongs to. */
export interface Asking {
  stop(run: string): void;
  forceTurn(run: string, side: "a" | "b"): void;
}

/** A run as it was when the state was loaded. Its signal goes on through later ones. */
export class RemoteExecution implements ExecutionState {
  readonly flowId: string;
  // A caller works for side A: a person is the other side.
  readonly currentSide: "a" | "b" = "a";
  readonly stepCount: number;
  readonly sideAStepCount: number;
  readonly sideBStepCount = 0;
  readonly stopped: boolean;
  readonly abortSignal: AbortSignal;

  constructor(
    run: Run,
    readonly messageHistory: Message[],
    readonly promptPath: string[],
    abort: AbortController,
    private readonly asking: Asking,
  ) {
    this.flowId = run.id;
    this.stepCount = this.sideAStepCount = run.stepCount;
    this.stopped = run.stopRequestedAt != null;
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
