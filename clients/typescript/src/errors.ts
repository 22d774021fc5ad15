// Errors: refused by the server, never arrived, or of unknown fate.

import type { Problem } from "./printed/types.js";

/** An error of this client. Its text never holds the key. */
export class ThreadkeepError extends Error {
  override name = "ThreadkeepError";

  constructor(
    message: string,
    /** The stable code: the server's own, or `unreachable`, `fate_unknown`, `not_understood`, `not_honoured`. */
    readonly code: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The server refused the request. */
export class Refused extends ThreadkeepError {
  override name = "Refused";
  /** The status of the answer. */
  readonly status: number;
  /** What happened, in a sentence. */
  readonly detail: string;
  /** What to do about it. */
  readonly hint: string | undefined;
  /** The field of the request that breaks a rule. */
  readonly field: string | undefined;
  /** The id of the request, for the server's log. */
  readonly requestId: string | undefined;
  /** Where the thread is, for a conflict. */
  readonly currentVersion: number | undefined;
  /** The approval that has to be given first. */
  readonly approvalId: string | undefined;

  constructor(
    /** The whole problem, with fields that this version does not know. */
    readonly problem: Partial<Problem> & Record<string, unknown>,
    status: number,
  ) {
    const detail = problem.detail ?? `status ${status}`;
    super(problem.hint ? `${detail} (${problem.hint})` : detail, problem.code ?? "not_understood");
    this.status = status;
    this.detail = detail;
    this.hint = problem.hint ?? undefined;
    this.field = problem.field ?? undefined;
    this.requestId = problem.requestId;
    this.currentVersion = problem.currentVersion ?? undefined;
    this.approvalId = problem.approvalId ?? undefined;
  }
}

/** 400, 413, 422: the request breaks a rule. */
export class Invalid extends Refused {
  override name = "Invalid";
}
/** 401: the key is missing or wrong. */
export class Unauthorized extends Refused {
  override name = "Unauthorized";
}
/** 403: the key may not do that, or an approval is needed first: see `approvalId`. */
export class Forbidden extends Refused {
  override name = "Forbidden";
}
/** 404, 410: there is nothing of that name for this key. */
export class NotFound extends Refused {
  override name = "NotFound";
}
/** 409, 412: another writer was first, or the state does not allow it. */
export class Conflict extends Refused {
  override name = "Conflict";
}
/** 429, 503: try again later. */
export class Unavailable extends Refused {
  override name = "Unavailable";
}

/** Nothing was sent: there is no way to the server. */
export class Unreachable extends ThreadkeepError {
  override name = "Unreachable";
  constructor(message: string, cause?: unknown) {
    super(message, "unreachable", { cause });
  }
}

/** The connection broke after something was sent: whether the change was made is not known. */
export class FateUnknown extends ThreadkeepError {
  override name = "FateUnknown";
  constructor(message: string, cause?: unknown) {
    super(message, "fate_unknown", { cause });
  }
}

/** The error of an answer with this status. */
export function refused(status: number, problem: Partial<Problem> & Record<string, unknown>): Refused {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return new Invalid(problem, status);
    case 401:
      return new Unauthorized(problem, status);
    case 403:
      return new Forbidden(problem, status);
    case 404:
    case 410:
      return new NotFound(problem, status);
    case 409:
    case 412:
      return new Conflict(problem, status);
    case 429:
    case 503:
      return new Unavailable(problem, status);
    default:
      return new Refused(problem, status);
  }
}
