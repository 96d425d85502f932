// Statements whose answers the server keeps, and tasks that load rows: both are begun, followed
// until they have ended, and cancelled when they are not wanted any more.
import { ask } from "../api/ask";
import { ApiError, call, send, parse } from "../api/client";
import type { Context, Listener, Row } from "../api/sql";

const every = 500;

/** Waits for a moment, or until a signal. */
function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, failed) => {
    const end = () => (clearTimeout(timer), failed(signal?.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", end), done()), every);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}

/** Does something again and again until it says that it has expired; what is aborted is cancelled. */
async function follow(look: () => Promise<boolean>, cancel: () => Promise<unknown>, signal?: AbortSignal): Promise<void> {
  try {
    while (!(await look())) await pause(signal);
  } catch (e) {
    if (signal?.aborted) await cancel().catch(() => undefined);
    throw e;
  }
}

interface Schema {
  name: string;
  type: string;
}

interface Pages {
  numTotalRows?: number;
  pages?: { id: number }[];
}

async function statement(query: string, context: Context, listener: Listener, signal?: AbortSignal): Promise<void> {
  const begun = await ask("POST /service/v2/sql/statements", { body: { query, context: { ...context, executionMode: "ASYNC" } } }, signal);
  const id = begun.queryId ?? "";
  let state = begun;
  await follow(
    async () => {
      state = await ask("GET /service/v2/sql/statements/{id}", { path: { id } }, signal);
      listener.stage?.(`statement ${id}: ${state.state ?? ""}`);
      return state.state === "SUCCESS" || state.state === "FAILED";
    },
    () => call("DELETE", `/service/v2/sql/statements/${encodeURIComponent(id)}`),
    signal,
  );
  if (state.state === "FAILED") throw failureOf(state.errorDetails, "The statement failed.");
  const columns = ((state.schema ?? []) as Schema[]).map(({ name, type }) => ({ name, type }));
  listener.columns(columns);
  for (const page of (state.result as Pages | undefined)?.pages ?? []) {
    const answer = await send("GET", `/service/v2/sql/statements/${encodeURIComponent(id)}/results?page=${page.id}&resultFormat=array`, undefined, signal);
    listener.rows(parse(await answer.text()) as Row[]);
  }
}

async function task(query: string, context: Context, listener: Listener, signal?: AbortSignal): Promise<void> {
  const begun = await call<{ taskId: string }>("POST", "/service/v2/sql/task", { query, context }, signal);
  const path = `/service/indexer/v1/task/${encodeURIComponent(begun.taskId)}`;
  listener.columns([{ name: "TASK", type: "VARCHAR" }, { name: "STATE", type: "VARCHAR" }, { name: "DURATION_MS", type: "BIGINT" }]);
  let state = "";
  let row: Row = [];
  let error = "";
  await follow(
    async () => {
      const { status } = await call<{ status: { status?: string; statusCode?: string; duration?: number; errorMsg?: string | null } }>("GET", `${path}/status`, undefined, signal);
      state = status.statusCode ?? status.status ?? "";
      error = status.errorMsg ?? "";
      row = [begun.taskId, state, status.duration ?? null];
      listener.stage?.(`task ${begun.taskId}: ${state}`);
      return state === "SUCCESS" || state === "FAILED";
    },
    () => call("POST", `${path}/shutdown`),
    signal,
  );
  listener.rows([row]);
  if (state === "FAILED") throw new ApiError(error || "The task failed.", 500, "");
}

/** Makes an error of what a statement says of its failure. */
function failureOf(details: unknown, otherwise: string): ApiError {
  const d = (details ?? {}) as { errorMessage?: string; error?: unknown; category?: string };
  const text = d.errorMessage ?? (typeof d.error === "string" ? d.error : undefined);
  return new ApiError(text ?? otherwise, 500, d.category ?? "");
}

export const far = { statement, task };
