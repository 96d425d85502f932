// SQL over HTTP, read as it arrives.
import { call, errorOf, parse, send, ApiError } from "./client";

/** A column of an answer. */
export interface Column {
  name: string;
  /** The type in SQL, such as BIGINT. */
  type: string;
}

/** A value of an answer: whole numbers beyond 2^53 are bigints, so that they are exact. */
export type Value = string | number | bigint | boolean | null | Value[] | { [key: string]: Value };

export type Row = Value[];

/** What a query tells while it runs. */
export interface Listener {
  columns(columns: Column[]): void;
  rows(rows: Row[]): void;
  /** Of statements and tasks: what they are at. */
  stage?(stage: string): void;
}

export type Context = Record<string, string | number | boolean>;

/** A name for a query that no other has. */
export function newQueryId(): string {
  return crypto.randomUUID ? crypto.randomUUID() : `console-${Date.now()}-${Math.random().toString(36).slice(2)}`;
}

/** Reads the lines of an answer in batches, each as large as what arrived at once. */
async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    if (parts.length > 0) yield parts;
  }
  if (rest !== "") yield [rest];
}

/**
 * Runs a statement and tells the listener of columns and rows as they arrive. It returns when the
 * answer is whole; an answer that breaks off is an ApiError after the rows that came.
 */
export async function run(query: string, context: Context, listener: Listener, signal?: AbortSignal): Promise<void> {
  const answer = await send(
    "POST",
    "/service/v2/sql",
    { query, resultFormat: "arrayLines", header: true, typesHeader: true, sqlTypesHeader: true, context },
    signal,
  );
  if (!answer.body) return;
  let head: unknown[][] = [];
  let ended = false;
  for await (const batch of lines(answer.body)) {
    const rows: Row[] = [];
    for (const line of batch) {
      if (line === "") {
        ended = true; // an empty line ends a whole answer
        continue;
      }
      if (head.length < 3) {
        const parsed = parse(line);
        if (!Array.isArray(parsed)) throw errorOf(500, line);
        head.push(parsed);
        if (head.length === 3) {
          const [names, , types] = head as [string[], string[], string[]];
          listener.columns(names.map((name, i) => ({ name, type: types[i] ?? "" })));
        }
        continue;
      }
      const row = parse(line);
      if (!Array.isArray(row)) throw errorOf(500, line);
      rows.push(row as Row);
    }
    if (rows.length > 0) listener.rows(rows);
  }
  head = [];
  if (!ended) throw new ApiError("The response was cut off: rows are missing.", 0, "");
}

/** Runs a statement with few rows and returns them as objects. */
export async function select<T>(query: string, signal?: AbortSignal, context: Context = {}): Promise<T[]> {
  return (
    (await call<T[]>("POST", "/service/v2/sql", { query, resultFormat: "object", context: { sqlQueryId: newQueryId(), ...context } }, signal)) ?? []
  );
}

/** Asks the server to end a query. Whether it still ran does not matter. */
export async function cancel(id: string): Promise<void> {
  await call("DELETE", `/service/v2/sql/${encodeURIComponent(id)}`).catch(() => undefined);
}

/** Writes a text as a literal. */
export function literal(text: string): string {
  return "'" + text.replaceAll("'", "''") + "'";
}

/** Writes a name as an identifier. */
export function ident(name: string): string {
  return '"' + name.replaceAll('"', '""') + '"';
}
