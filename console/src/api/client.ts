// Requests to the server that the page came from.
import type { Operations } from "./types";

/** The JSON of a good answer of an operation, such as "GET /status". */
export type Answer<K extends keyof Operations> = Operations[K]["answer"];

/** Where a fault is in a text that was sent: lines and columns from 1, ends included. */
export interface Place {
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
}

/** An answer that is an error, or no answer: status 0. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly category: string,
    readonly place?: Place,
  ) {
    super(message);
  }

  /** You are not logged in, or your session has expired. */
  get unauthenticated() {
    return this.status === 401;
  }

  get forbidden() {
    return this.status === 403;
  }

  /** The server can't be reached or is starting: it is worth a retry. */
  get away() {
    return this.status === 0 || this.status === 502 || this.status === 503;
  }
}

interface ErrorBody {
  error?: unknown;
  errorMessage?: string;
  category?: string;
  context?: Record<string, string>;
}

function placeOf(context: Record<string, string> | undefined): Place | undefined {
  const line = Number(context?.line);
  const column = Number(context?.column);
  if (!line || !column) return undefined;
  return { line, column, endLine: Number(context?.endLine) || line, endColumn: Number(context?.endColumn) || column };
}

/** Makes an ApiError of the body of an answer. */
export function errorOf(status: number, text: string): ApiError {
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // Some answers are plain text, which is the message.
  }
  const message =
    body.errorMessage ?? (typeof body.error === "string" ? body.error : "") ?? "";
  return new ApiError(message || text.trim() || `The server answered with status ${status}.`, status, body.category ?? "", placeOf(body.context));
}

/** Sends a request, with a body of JSON if it has one, and returns the answer, whose status is 2xx. */
export function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  return sendText(method, path, body === undefined ? undefined : { type: "application/json", text: JSON.stringify(body) }, signal);
}

/** Sends a request with a body of any media type and returns the answer, whose status is 2xx. */
export async function sendText(method: string, path: string, body?: { type: string; text: string }, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, signal, credentials: "same-origin", headers: body && { "Content-Type": body.type }, body: body?.text };
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new ApiError("The server can't be reached.", 0, "");
  }
  if (!answer.ok) throw errorOf(answer.status, await answer.text());
  return answer;
}

/** Sends a request and returns the JSON of the answer, or undefined if it has none. */
export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const answer = await send(method, path, body, signal);
  const text = await answer.text();
  return (text.trim() === "" ? undefined : parse(text)) as T;
}

const longNumber = /("(?:[^"\\]|\\.)*")|-?\d{16,}(?![\d.eE])/g;

/**
 * Parses JSON with exact whole numbers: those that a double would round become bigints.
 */
export function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const mark = "\u0000int:";
  const marked = text.replace(longNumber, (all, quoted: string | undefined) => {
    if (quoted !== undefined || Number.isSafeInteger(Number(all))) return all;
    return JSON.stringify(mark + all);
  });
  return JSON.parse(marked, (_, v: unknown) =>
    typeof v === "string" && v.startsWith(mark) ? BigInt(v.slice(mark.length)) : v,
  );
}
