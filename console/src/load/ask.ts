// What the load view asks of the server: uploads, surveys, samples, tasks.
import { ApiError, call, errorOf } from "../api/client";
import type { Schemas } from "../api/types";
import { TimeWatch } from "./times";
import type { Field, Json, Time } from "./plan";

export interface Uploaded {
  id: string;
  name: string;
  size: number;
}

/** Sends a file. The browser tells how far it is by this old interface only. */
export function upload(file: File, progress: (bytes: number) => void, signal: AbortSignal): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const r = new XMLHttpRequest();
    r.open("POST", `/service/indexer/v1/uploads?name=${encodeURIComponent(file.name)}`);
    r.setRequestHeader("Content-Type", "application/octet-stream");
    r.upload.onprogress = (e) => progress(e.loaded);
    r.onload = () => (r.status >= 200 && r.status < 300 ? resolve(JSON.parse(r.responseText) as Uploaded) : reject(errorOf(r.status, r.responseText)));
    r.onerror = () => reject(new ApiError("The upload broke off: the server can't be reached, or refuses a file of this size.", 0, ""));
    r.onabort = () => reject(new DOMException("stopped", "AbortError"));
    signal.addEventListener("abort", () => r.abort());
    r.send(file);
  });
}

export type Survey = Schemas["Survey"];

/** What somebody has said of an input. */
export interface Said {
  types: Record<string, string>;
  time?: string;
  timeFormat?: string;
  noTime?: boolean;
  header?: boolean;
  delimiter?: string;
}

export function survey(inputSource: Json, said: Said, signal?: AbortSignal): Promise<Survey> {
  return call<Survey>("POST", "/service/indexer/v1/survey", { inputSource, ...said }, signal);
}

export interface Sample {
  numRowsRead: number;
  numRowsIndexed: number;
  warnings?: string[];
  logicalSegmentSchema?: { name: string; type: string }[];
  data: { input?: Json; parsed?: Json; unparseable?: boolean; error?: string }[];
}

export function sample(body: Json, signal?: AbortSignal): Promise<Sample> {
  return call<Sample>("POST", "/service/indexer/v1/sampler", body, signal);
}

const sqlTypes: Record<string, string> = {
  string: "VARCHAR", long: "BIGINT", double: "DOUBLE", float: "FLOAT", "array<string>": "VARCHAR ARRAY", "array<long>": "BIGINT ARRAY", "array<double>": "DOUBLE ARRAY",
};

const sqlType = (type: string) => sqlTypes[type.toLowerCase()] ?? "TYPE('COMPLEX<json>')";

/** The columns and the time of rows, where no survey tells them: of streams and databases. */
export function learn(s: Sample): { fields: Field[]; time: Time } {
  const rows = s.data.flatMap((d) => (d.input ? [d.input] : []));
  const found = new Map((s.logicalSegmentSchema ?? []).map((c) => [c.name, sqlType(c.type)]));
  const names = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  const fields = names.map((name) => ({ name, type: found.get(name) ?? "VARCHAR" }));
  const times = names.flatMap((name) => {
    const watch = new TimeWatch();
    for (const r of rows) watch.add(r[name] === undefined || r[name] === null ? "" : typeof r[name] === "object" ? "{}" : String(r[name]));
    const format = watch.format();
    return format === "" ? [] : [{ column: name, format: format === "auto" ? "iso" : format }];
  });
  const usual = ["__time", "timestamp", "time", "ts", "t", "datetime", "event_time", "created_at", "date"];
  const rank = (t: Time) => (usual.includes(t.column.toLowerCase()) ? usual.indexOf(t.column.toLowerCase()) : usual.length);
  times.sort((a, b) => rank(a) - rank(b));
  return { fields, time: times[0] ?? { column: "", format: "iso" } };
}

/** Guesses the format of messages by their text. */
export function guessFormat(texts: string[]): Json {
  const first = texts.find((t) => t.trim() !== "")?.trim() ?? "";
  if (first.startsWith("{")) return { type: "json" };
  const tabs = first.split("\t").length;
  const commas = first.split(",").length;
  if (Math.max(tabs, commas) < 2) return { type: "regex", pattern: "([\\s\\S]*)", columns: ["line"] };
  const columns = Array.from({ length: Math.max(tabs, commas) }, (_, i) => `column_${i + 1}`);
  return tabs > commas ? { type: "tsv", columns } : { type: "csv", columns };
}

/** The status of a task. */
export interface TaskState {
  code: "RUNNING" | "SUCCESS" | "FAILED";
  waits: boolean;
  error: string;
  ms: number;
}

export async function taskState(id: string, signal?: AbortSignal): Promise<TaskState> {
  const { status: s } = await call<{ status: { statusCode: TaskState["code"]; runnerStatusCode?: string; errorMsg?: string; duration?: number } }>(
    "GET", `/service/indexer/v1/task/${encodeURIComponent(id)}/status`, undefined, signal,
  );
  return { code: s.statusCode, waits: s.runnerStatusCode === "WAITING" || s.runnerStatusCode === "PENDING", error: s.errorMsg ?? "", ms: Number(s.duration ?? 0) };
}

/** A stage with what it has done so far. */
export interface Stage {
  number: number;
  name: string;
  phase: string;
  rows: number;
  bytes: number;
  out: number;
  ms: number;
}

export interface Report {
  stages: Stage[];
  problem?: string;
  warnings: string[];
  /** Of native tasks: rows that were read. */
  processed?: number;
  unparseable?: number;
}

interface Counter {
  rows?: number[];
  bytes?: number[];
}

interface Wire {
  multiStageQuery?: {
    payload?: {
      status?: { errorReport?: { error?: { errorMessage?: string } }; warnings?: { error?: { errorMessage?: string } }[] };
      stages?: { stageNumber: number; definition?: { processor?: { type?: string } }; phase?: string; duration?: number }[];
      counters?: Record<string, Record<string, Record<string, Counter & { rowsPushed?: number; rowsProcessed?: number }>>>;
    };
  };
  ingestionStatsAndErrors?: { payload?: { rowStats?: { buildSegments?: { processed?: number; unparseable?: number } }; errorMsg?: string | null; warnings?: string[] } };
}

const sum = (list: number[] | undefined) => (list ?? []).reduce((a, b) => a + b, 0);

/** Reads the report of a task, also while it runs; undefined: there is none yet. */
export async function taskReport(id: string, signal?: AbortSignal): Promise<Report | undefined> {
  let wire: Wire;
  try {
    wire = await call<Wire>("GET", `/service/indexer/v1/task/${encodeURIComponent(id)}/reports`, undefined, signal);
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return undefined;
    throw e;
  }
  const p = wire?.multiStageQuery?.payload;
  if (!p) {
    const native = wire?.ingestionStatsAndErrors?.payload;
    return native && { stages: [], warnings: native.warnings ?? [], processed: native.rowStats?.buildSegments?.processed, unparseable: native.rowStats?.buildSegments?.unparseable };
  }
  const stages = (p.stages ?? []).map((s) => {
    const out: Stage = { number: s.stageNumber, name: s.definition?.processor?.type ?? "", phase: s.phase ?? "", rows: 0, bytes: 0, out: 0, ms: s.duration ?? 0 };
    for (const worker of Object.values(p.counters?.[String(s.stageNumber)] ?? {})) {
      for (const [name, c] of Object.entries(worker)) {
        if (name.startsWith("input")) {
          out.rows += sum(c.rows);
          out.bytes += sum(c.bytes);
        } else if (name === "output" || name === "shuffle") out.out = Math.max(out.out, sum(c.rows));
        else if (name === "segmentGenerationProgress") out.out += c.rowsPushed ?? 0;
      }
    }
    return out;
  });
  const warnings = (p.status?.warnings ?? []).flatMap((w) => (w.error?.errorMessage ? [w.error.errorMessage] : []));
  return { stages, problem: p.status?.errorReport?.error?.errorMessage, warnings };
}
