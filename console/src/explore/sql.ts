// What is explored, and the statements that answer it. Every name is an identifier in quotes and
// every value a literal, so that neither can be anything else.
import { isNumeric } from "../api/format";
import { ident, literal, type Column, type Value } from "../api/sql";

export const functions = ["sum", "avg", "min", "max", "p95", "distinct"] as const;
export type Fn = (typeof functions)[number];

/** Rows are counted where there is no column. */
export interface Measure {
  fn: Fn | "rows";
  column?: string;
}

export interface Filter {
  column: Column;
  value: Value;
  /** Whether rows that have the value are left out. */
  not: boolean;
}

/** A range of time in milliseconds: from is in it, to is not. */
export interface Range {
  from: number;
  to: number;
}

export interface Exploration {
  datasource: string;
  range: Range;
  /** Whether the period of the same length before is asked for, too. */
  compare: boolean;
  dimensions: Column[];
  measures: Measure[];
  filters: Filter[];
}

export interface Order {
  /** A measure by its place. */
  measure: number;
  by: "now" | "before" | "change";
  down: boolean;
}

export function nameOf(m: Measure): string {
  if (m.fn === "rows") return "rows";
  return `${m.fn} of ${m.column}`;
}

export function same(a: Measure, b: Measure): boolean {
  return a.fn === b.fn && a.column === b.column;
}

export function timestamp(ms: number): string {
  return `TIMESTAMP '${new Date(ms).toISOString().replace("T", " ").replace("Z", "")}'`;
}

function within(r: Range): string {
  return `"__time" >= ${timestamp(r.from)} AND "__time" < ${timestamp(r.to)}`;
}

/** The period of the same length before a range. */
export function before(r: Range): Range {
  return { from: r.from - (r.to - r.from), to: r.from };
}

function aggregate(m: Measure, filter: string): string {
  const column = ident(m.column ?? "");
  const call: Record<Measure["fn"], string> = {
    rows: "COUNT(*)",
    sum: `SUM(${column})`,
    avg: `AVG(${column})`,
    min: `MIN(${column})`,
    max: `MAX(${column})`,
    p95: `APPROX_QUANTILE_DS(${column}, 0.95)`,
    distinct: `COUNT(DISTINCT ${column})`,
  };
  return call[m.fn] + (filter === "" ? "" : ` FILTER (WHERE ${filter})`);
}

function valueOf(column: Column, value: Value): string {
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (column.type === "TIMESTAMP") return timestamp(Date.parse(String(value)));
  const text = literal(String(value));
  return isNumeric(column.type) ? `CAST(${text} AS DOUBLE)` : text; // NaN and the infinities are texts in JSON
}

function one(f: Filter): string {
  const name = ident(f.column.name);
  if (f.value === null) return f.not ? `${name} IS NOT NULL` : `${name} IS NULL`;
  const value = valueOf(f.column, f.value);
  return f.not ? `(${name} <> ${value} OR ${name} IS NULL)` : `${name} = ${value}`;
}

/** Conditions of filters: rows have one of the values of each column, and none that is left out. */
export function conditions(filters: Filter[]): string[] {
  const columns = new Map<string, string[]>();
  const out: string[] = [];
  for (const f of filters) {
    if (f.not) out.push(one(f));
    else columns.set(f.column.name, [...(columns.get(f.column.name) ?? []), one(f)]);
  }
  return [...[...columns.values()].map((of) => (of.length === 1 ? of[0]! : `(${of.join(" OR ")})`)), ...out];
}

function where(range: Range, filters: Filter[]): string {
  return `WHERE ${[within(range), ...conditions(filters)].join("\n  AND ")}`;
}

/** Gives columns of an answer names of which each is there once. */
function names(taken: string[]) {
  const used = new Set(taken);
  return (name: string): string => {
    let free = name;
    for (let i = 2; used.has(free); i++) free = `${name} ${i}`;
    used.add(free);
    return ident(free);
  };
}

/** The measures as columns: of the range, then of the period before if it is compared. */
function columns(e: Exploration, taken: string[]): string[] {
  const name = names(taken);
  if (!e.compare) return e.measures.map((m) => `${aggregate(m, "")} AS ${name(nameOf(m))}`);
  const at = timestamp(e.range.from);
  return e.measures.flatMap((m) => [
    `${aggregate(m, `"__time" >= ${at}`)} AS ${name(nameOf(m))}`,
    `${aggregate(m, `"__time" < ${at}`)} AS ${name(`${nameOf(m)}, before`)}`,
  ]);
}

function whole(e: Exploration): Range {
  return e.compare ? { from: before(e.range).from, to: e.range.to } : e.range;
}

/** The measures over all rows: a row with one value for each, two if the period before is compared. */
export function totals(e: Exploration): string {
  return `SELECT\n  ${columns(e, []).join(",\n  ")}\nFROM ${ident(e.datasource)}\n${where(whole(e), e.filters)}`;
}

/** The groups that have most of a measure. */
export function top(e: Exploration, order: Order, limit: number): string {
  const dims = e.dimensions.map((d) => ident(d.name));
  const m = e.measures[order.measure] ?? e.measures[0]!;
  const at = timestamp(e.range.from);
  const now = aggregate(m, e.compare ? `"__time" >= ${at}` : "");
  const past = aggregate(m, `"__time" < ${at}`);
  const by = !e.compare || order.by === "now" ? now : order.by === "before" ? past : `COALESCE(${now}, 0) - COALESCE(${past}, 0)`;
  return [
    `SELECT\n  ${[...dims, ...columns(e, e.dimensions.map((d) => d.name))].join(",\n  ")}`,
    `FROM ${ident(e.datasource)}`,
    where(whole(e), e.filters),
    `GROUP BY ${dims.map((_, i) => i + 1).join(", ")}`,
    `ORDER BY ${by} ${order.down ? "DESC" : "ASC"} NULLS LAST`,
    `LIMIT ${limit}`,
  ].join("\n");
}

/** Steps of time by their lengths in milliseconds. */
export const steps: [string, number][] = [
  ["PT1S", 1e3], ["PT10S", 1e4], ["PT1M", 6e4], ["PT5M", 3e5], ["PT15M", 9e5], ["PT1H", 36e5], ["PT6H", 216e5], ["P1D", 864e5], ["P7D", 6048e5], ["P30D", 2592e6], ["P365D", 31536e6],
];

/** The shortest step that cuts a range into no more than so many parts. */
export function stepOf(r: Range, most = 200): [string, number] {
  return steps.find(([, ms]) => (r.to - r.from) / ms <= most) ?? steps.at(-1)!;
}

/** A measure over the time. Steps begin with the range, so that those of two periods fit together. */
export function series(e: Exploration, measure: Measure, range: Range): string {
  const [step] = stepOf(e.range);
  return [
    `SELECT\n  TIME_FLOOR("__time", '${step}', ${timestamp(range.from)}) AS "time",\n  ${aggregate(measure, "")} AS ${names(["time"])(nameOf(measure))}`,
    `FROM ${ident(e.datasource)}`,
    where(range, e.filters),
    "GROUP BY 1",
    "ORDER BY 1",
  ].join("\n");
}

/** How much a value has changed: absolutely, and as a share of what it was. */
export function change(now: Value | undefined, past: Value | undefined): { by: number | bigint; share?: number } | undefined {
  if (isWhole(now) && isWhole(past) && (typeof now === "bigint" || typeof past === "bigint")) {
    const by = BigInt(now) - BigInt(past);
    return { by, share: Number(past) === 0 ? undefined : Number(by) / Math.abs(Number(past)) };
  }
  const [a, b] = [Number(now ?? 0), Number(past ?? 0)];
  if (Number.isNaN(a) || Number.isNaN(b) || (now == null && past == null)) return undefined;
  return { by: a - b, share: b === 0 ? undefined : (a - b) / Math.abs(b) };
}

function isWhole(v: Value | undefined): v is number | bigint {
  return typeof v === "bigint" || (typeof v === "number" && Number.isSafeInteger(v));
}
