// What a load does: where the data are, how they are read, and how they are kept. From it come the
// sample, the statement, and the specification of a task or supervisor.
import { ident, literal } from "../api/sql";

export type Json = Record<string, unknown>;

/** Where the data are. A stream goes on for ever; all else has an end. */
export interface Source {
  /** What it is called on the page. */
  label: string;
  /** The input source, or what is said of a stream. */
  wire: Json;
  stream?: "kafka" | "kinesis";
  /** A name for the datasource. */
  name: string;
}

/** A column as it is read, with its type in SQL. */
export interface Field {
  name: string;
  type: string;
}

/** How times are written: iso, millis, posix, micro, nano or a pattern. */
export interface Time {
  /** "": no column is the time. */
  column: string;
  format: string;
  /** What the server says the time is in SQL, if it does. */
  expression?: string;
}

export const roles = ["dimension", "sum", "min", "max", "distinct count"] as const;
export type Role = (typeof roles)[number];

/** What somebody has changed of a column. */
export interface Edit {
  rename?: string;
  type?: string;
  drop?: boolean;
  role?: Role;
  /** A list of texts is kept as a multi-value string, not as an array. */
  multi?: boolean;
}

export const operators = ["=", "<>", ">", ">=", "<", "<=", "like", "is null", "is not null"] as const;

export interface Filter {
  column: string;
  operator: (typeof operators)[number];
  value: string;
}

/** A column that is taken out of nested data by a path. */
export interface Flattened {
  name: string;
  path: string;
  type: string;
}

export interface Plan {
  source: Source;
  /** The input format; undefined: the source has rows. */
  format?: Json;
  time: Time;
  /** How many records have no time, as far as it is known. */
  untimed: number;
  keepTime: boolean;
  fields: Field[];
  edits: Record<string, Edit>;
  flattened: Flattened[];
  filters: Filter[];
  rollup: boolean;
  /** A period of ISO 8601; "": times are kept as they are. */
  queryGranularity: string;
  datasource: string;
  replace: boolean;
  segmentGranularity: string;
  rowsPerSegment: number;
  cluster: string[];
}

export const types = ["VARCHAR", "BIGINT", "DOUBLE", "FLOAT", "VARCHAR ARRAY", "BIGINT ARRAY", "DOUBLE ARRAY", "TYPE('COMPLEX<json>')"] as const;

/** The type in words of the page. */
export function typeName(type: string): string {
  return type === "TYPE('COMPLEX<json>')" ? "JSON" : type;
}

/** All fields, those that are taken out of nested data too. */
export function fieldsOf(p: Plan): Field[] {
  return [...p.fields, ...p.flattened.filter((f) => f.name !== "" && f.path !== "")].map((f) => ({ name: f.name, type: p.edits[f.name]?.type ?? f.type }));
}

/** A column as it is kept. */
export interface Kept {
  field: string;
  name: string;
  type: string;
  role: Role;
  multi: boolean;
}

/** The columns that are kept beside the time. */
export function keptOf(p: Plan): Kept[] {
  return fieldsOf(p)
    .filter((f) => f.name !== "__time" && !p.edits[f.name]?.drop && (f.name !== p.time.column || p.keepTime))
    .map((f) => {
      const e = p.edits[f.name] ?? {};
      return { field: f.name, name: e.rename || f.name, type: f.type, role: p.rollup ? (e.role ?? "dimension") : "dimension", multi: !!e.multi && f.type === "VARCHAR ARRAY" };
    });
}

const numeric = (type: string) => type === "BIGINT" || type === "DOUBLE" || type === "FLOAT";

/** Reports whether a type can be summed. */
export const isNumber = numeric;

/** The input format with the paths of nested data. */
export function formatOf(p: Plan): Json | undefined {
  const paths = p.flattened.filter((f) => f.name !== "" && f.path !== "");
  if (!p.format || paths.length === 0) return p.format;
  return { ...p.format, flattenSpec: { useFieldDiscovery: true, fields: paths.map((f) => ({ type: "path", name: f.name, expr: f.path })) } };
}

/** The time of a row in SQL. */
export function timeSql(p: Plan): string {
  const { column, format, expression } = p.time;
  if (column === "") return "TIMESTAMP '1970-01-01 00:00:00'";
  if (expression && !p.edits[column]?.type) return expression;
  const name = ident(column);
  const type = fieldsOf(p).find((f) => f.name === column)?.type ?? "VARCHAR";
  const text = type === "VARCHAR" ? name : type === "BIGINT" ? `CAST(${name} AS VARCHAR)` : `CAST(CAST(${name} AS BIGINT) AS VARCHAR)`;
  const whole = type === "BIGINT" ? name : `CAST(${name} AS BIGINT)`;
  switch (format) {
    case "iso":
    case "auto":
      return `TIME_PARSE(${text})`;
    case "millis":
      return `MILLIS_TO_TIMESTAMP(${whole})`;
    case "posix":
      return `MILLIS_TO_TIMESTAMP(${whole} * 1000)`;
    case "micro":
      return `MILLIS_TO_TIMESTAMP(${whole} / 1000)`;
    case "nano":
      return `MILLIS_TO_TIMESTAMP(${whole} / 1000000)`;
  }
  return `TIME_PARSE(${text}, ${literal(format)})`;
}

function conditionSql(f: Filter, type: string): string {
  const name = ident(f.column);
  if (f.operator === "is null" || f.operator === "is not null") return `${name} ${f.operator.toUpperCase()}`;
  const value = numeric(type) && /^-?\d+(\.\d+)?$/.test(f.value) && f.operator !== "like" ? f.value : literal(f.value);
  return `${name} ${f.operator.toUpperCase()} ${value}`;
}

/** A condition as a native filter. */
function conditionNative(f: Filter, type: string): Json {
  const not = (field: Json): Json => ({ type: "not", field });
  const is = (value: string | null): Json => ({ type: "selector", dimension: f.column, value });
  const ordering = numeric(type) ? "numeric" : "lexicographic";
  switch (f.operator) {
    case "=":
      return is(f.value);
    case "<>":
      return not(is(f.value));
    case "is null":
      return is(null);
    case "is not null":
      return not(is(null));
    case "like":
      return { type: "like", dimension: f.column, pattern: f.value };
    case ">":
    case ">=":
      return { type: "bound", dimension: f.column, lower: f.value, lowerStrict: f.operator === ">", ordering };
  }
  return { type: "bound", dimension: f.column, upper: f.value, upperStrict: f.operator === "<", ordering };
}

function conditions<T>(p: Plan, write: (f: Filter, type: string) => T): T[] {
  const typeOf = new Map(fieldsOf(p).map((f) => [f.name, f.type]));
  return p.filters.filter((f) => f.column !== "").map((f) => write(f, typeOf.get(f.column) ?? "VARCHAR"));
}

const aggregates: Record<Exclude<Role, "dimension">, string> = { sum: "SUM", min: "MIN", max: "MAX", "distinct count": "APPROX_COUNT_DISTINCT_DS_HLL" };

/** The statement of a load. */
export function sqlOf(p: Plan): string {
  const kept = keptOf(p);
  const time = p.queryGranularity === "" ? timeSql(p) : `TIME_FLOOR(${timeSql(p)}, ${literal(p.queryGranularity)})`;
  const dimensions = kept.filter((k) => k.role === "dimension");
  const lines = [`${time} AS __time`];
  for (const k of dimensions) {
    const value = k.multi ? `ARRAY_TO_MV(${ident(k.field)})` : ident(k.field);
    lines.push(k.multi || k.name !== k.field ? `${value} AS ${ident(k.name)}` : value);
  }
  if (p.rollup) {
    lines.push(`COUNT(*) AS ${ident("count")}`);
    for (const k of kept) if (k.role !== "dimension") lines.push(`${aggregates[k.role]}(${ident(k.field)}) AS ${ident(k.name)}`);
  }
  const from = p.format
    ? `TABLE(EXTERN(\n  ${literal(JSON.stringify(p.source.wire))},\n  ${literal(JSON.stringify(formatOf(p)))}\n)) EXTEND (${fieldsOf(p)
        .map((f) => `${ident(f.name)} ${f.type}`)
        .join(", ")})`
    : rowsFrom(p);
  const where = conditions(p, conditionSql);
  if (p.untimed > 0 && p.time.column !== "") where.push(`${timeSql(p)} IS NOT NULL`);
  const out = [`${p.replace ? "REPLACE" : "INSERT"} INTO ${ident(p.datasource)}${p.replace ? " OVERWRITE ALL" : ""}`, `SELECT\n  ${lines.join(",\n  ")}`, `FROM ${from}`];
  if (where.length > 0) out.push(`WHERE ${where.join("\n  AND ")}`);
  // Grouped by its values, a multi-value string would make a row of each of them.
  if (p.rollup) out.push(`GROUP BY ${["1", ...dimensions.map((k, i) => (k.multi ? ident(k.field) : String(i + 2)))].join(", ")}`);
  out.push(`PARTITIONED BY ${p.segmentGranularity}`);
  if (p.cluster.length > 0) out.push(`CLUSTERED BY ${p.cluster.map(ident).join(", ")}`);
  return out.join("\n");
}

/** A source of rows within a statement. */
function rowsFrom(p: Plan): string {
  if (p.source.wire.dataSource !== undefined) return ident(String(p.source.wire.dataSource));
  const columns = fieldsOf(p).map((f) => `${ident(f.name)} ${f.type}`);
  return `TABLE(EXTERN(\n  ${literal(JSON.stringify(p.source.wire))},\n  '{"type":"json"}'\n)) EXTEND (${columns.join(", ")})`;
}

/** The context of the statement. */
export function contextOf(p: Plan): Record<string, string | number | boolean> {
  const out: Record<string, string | number | boolean> = { rowsPerSegment: p.rowsPerSegment, waitUntilSegmentsLoad: true };
  if (p.rollup) out.finalizeAggregations = false;
  return out;
}

const nativeTypes: Record<string, string> = { VARCHAR: "string", BIGINT: "long", DOUBLE: "double", FLOAT: "float", "TYPE('COMPLEX<json>')": "json" };

/** The format of times in native specifications, where "iso" wants a T before the hours. */
const nativeTime = (format: string) => (format === "" || format === "iso" ? "auto" : format);

const noTime = { column: "!no time!", format: "iso", missingValue: "1970-01-01T00:00:00Z" };

/** The dataSchema of a native specification: what the sampler, tasks and supervisors read. */
export function schemaOf(p: Plan): Json {
  const kept = keptOf(p);
  const filters = conditions(p, conditionNative);
  const renamed = kept.filter((k) => k.role === "dimension" && k.name !== k.field);
  const filter = filters.length === 0 ? undefined : filters.length === 1 ? filters[0] : { type: "and", fields: filters };
  return {
    dataSource: p.datasource || "preview",
    timestampSpec: p.time.column === "" ? noTime : { column: p.time.column, format: nativeTime(p.time.format) },
    dimensionsSpec: {
      dimensions: kept.filter((k) => k.role === "dimension").map((k) => ({ type: k.multi ? "string" : (nativeTypes[k.type] ?? "auto"), name: k.name })),
    },
    metricsSpec: p.rollup ? [{ type: "count", name: "count" }, ...kept.flatMap((k) => metricOf(k))] : [],
    granularitySpec: {
      segmentGranularity: p.segmentGranularity, queryGranularity: p.queryGranularity === "" ? "NONE" : { type: "period", period: p.queryGranularity }, rollup: p.rollup,
    },
    transformSpec: {
      transforms: renamed.map((k) => ({ type: "expression", name: k.name, expression: `"${k.field.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` })), filter,
    },
  };
}

function metricOf(k: Kept): Json[] {
  if (k.role === "dimension") return [];
  if (k.role === "distinct count") return [{ type: "HLLSketchBuild", name: k.name, fieldName: k.field }];
  const kind = k.type === "BIGINT" ? "long" : k.type === "FLOAT" ? "float" : "double";
  return [{ type: `${kind}${k.role[0]!.toUpperCase()}${k.role.slice(1)}`, name: k.name, fieldName: k.field }];
}

/** What the sampler is asked. */
export function samplerOf(p: Plan, rows: number): Json {
  const samplerConfig = { numRows: rows, timeoutMs: p.source.stream ? 8000 : 20000 };
  if (p.source.stream) return { type: p.source.stream, spec: { type: p.source.stream, dataSchema: schemaOf(p), ioConfig: streamOf(p) }, samplerConfig };
  const ioConfig = { type: "index_parallel", inputSource: p.source.wire, inputFormat: formatOf(p) };
  return { type: "index_parallel", spec: { dataSchema: schemaOf(p), ioConfig }, samplerConfig };
}

function streamOf(p: Plan): Json {
  return { type: p.source.stream, ...p.source.wire, inputFormat: formatOf(p) };
}

/** The specification of a task. */
export function taskOf(p: Plan): Json {
  const range = p.cluster.length > 0;
  return {
    type: "index_parallel",
    spec: {
      dataSchema: schemaOf(p),
      ioConfig: { type: "index_parallel", inputSource: p.source.wire, inputFormat: formatOf(p), appendToExisting: !p.replace, dropExisting: false },
      tuningConfig: {
        type: "index_parallel", forceGuaranteedRollup: range && p.replace,
        partitionsSpec: range && p.replace
          ? { type: "range", partitionDimensions: p.cluster, targetRowsPerSegment: p.rowsPerSegment }
          : { type: "dynamic", maxRowsPerSegment: p.rowsPerSegment },
      },
    },
  };
}

/** The specification of a supervisor. */
export function supervisorOf(p: Plan): Json {
  return {
    type: p.source.stream,
    spec: {
      dataSchema: schemaOf(p),
      ioConfig: { ...streamOf(p), taskCount: 1, replicas: 1, taskDuration: "PT1H" },
      tuningConfig: { type: p.source.stream, maxRowsPerSegment: p.rowsPerSegment },
    },
  };
}

/** A column of a sample that is worth to be clustered by. */
export interface Advice {
  column: string;
  distinct: number;
}

/** Texts with few values among the rows of a sample: filters on them then read few segments. */
export function clusterAdvice(p: Plan, rows: Json[]): Advice[] {
  if (rows.length < 20) return [];
  return keptOf(p)
    .filter((k) => k.role === "dimension" && k.type === "VARCHAR")
    .map((k) => ({ column: k.name, distinct: new Set(rows.map((r) => r[k.name] ?? null)).size }))
    .filter((a) => a.distinct > 1 && a.distinct <= rows.length / 4)
    .sort((a, b) => a.distinct - b.distinct)
    .slice(0, 4);
}

const day = 86_400_000;

/** How long the chunks of time should be for times between two, and why. */
export function granularityAdvice(p: Plan, from: number, to: number): { granularity: string; why: string } {
  if (p.time.column === "") return { granularity: "ALL", why: "Rows without a time are one chunk." };
  const days = (to - from) / day;
  const span = days < 2 ? `${Math.max(1, Math.round(days * 24))} hours` : days < 400 ? `${Math.round(days)} days` : `${Math.round(days / 365)} years`;
  const granularity = days > 3650 ? "YEAR" : days > 200 ? "MONTH" : days > 1 / 12 ? "DAY" : "HOUR";
  return { granularity, why: `The rows of the sample span ${span}.` };
}

/** A name for a datasource, from that of a file or topic. */
export function nameOf(text: string): string {
  const last = text.split(/[?#]/)[0]!.split(/[/\\]/).filter((x) => x !== "" && !/[*{]/.test(x)).pop() ?? "";
  return last.replace(/(\.(csv|tsv|txt|json|ndjson|jsonl|log|parquet|orc|avro|arrow|gz|zst|bz2|xz|lz4|zip|sz))+$/i, "").replace(/[^\p{L}\p{N}_-]+/gu, "_").replace(/^_+|_+$/g, "") || "data";
}
