// What is chosen in the view, and how the address keeps it, so that it can be sent to others and
// the browser's way back takes a step back.
import type { Column, Value } from "../api/sql";
import type { Filter, Fn, Measure, Order, Range } from "./sql";
import { functions } from "./sql";

/** A range that follows the newest row, by name. */
export const presets = { "Last hour": 36e5, "Last 6 hours": 216e5, "Last day": 864e5, "Last 7 days": 6048e5, "Last 30 days": 2592e6, "Last year": 31536e6, All: 0 } as const;
export type Preset = keyof typeof presets;

export interface Chosen {
  datasource?: string;
  range: Preset | Range;
  compare: boolean;
  dimensions: string[];
  measures: Measure[];
  filters: Filter[];
  order: Order;
  /** Measure in the chart, by its place. */
  drawn: number;
}

export const nothing: Chosen = {
  range: "All", compare: false, dimensions: [], measures: [{ fn: "rows" }], filters: [], order: { measure: 0, by: "now", down: true }, drawn: 0,
};

const bigMark = "int:";

/** Writes what is chosen for an address. */
export function write(c: Chosen): string {
  return JSON.stringify(c, (_, v: unknown) => (typeof v === "bigint" ? bigMark + v : v));
}

/** Reads what an address says. What can't be read counts as not chosen. */
export function read(text: string | null): Chosen {
  try {
    const c = JSON.parse(text ?? "", (_, v: unknown) => (typeof v === "string" && /^int:-?\d+$/.test(v) ? BigInt(v.slice(bigMark.length)) : v)) as Partial<Chosen>;
    const list = <T>(of: unknown, is: (v: T) => boolean) => (Array.isArray(of) ? (of as T[]).filter((v) => v !== null && typeof v === "object" && is(v)) : []);
    const measures = list<Measure>(c.measures, (m) => m.fn === "rows" || (functions.includes(m.fn as Fn) && typeof m.column === "string"));
    return {
      datasource: typeof c.datasource === "string" ? c.datasource : undefined,
      range: rangeOf(c.range),
      compare: c.compare === true,
      dimensions: Array.isArray(c.dimensions) ? c.dimensions.filter((d) => typeof d === "string") : [],
      measures: measures.length > 0 ? measures : nothing.measures,
      filters: list<Filter>(c.filters, (f) => isColumn(f.column) && isValue(f.value)).map((f) => ({ column: f.column, value: f.value, not: f.not === true })),
      order: c.order && ["now", "before", "change"].includes(c.order.by) ? { measure: Number(c.order.measure) || 0, by: c.order.by, down: c.order.down !== false } : nothing.order,
      drawn: Number(c.drawn) || 0,
    };
  } catch {
    return nothing;
  }
}

function rangeOf(r: unknown): Preset | Range {
  if (typeof r === "string" && r in presets) return r as Preset;
  const { from, to } = (r ?? {}) as Partial<Range>;
  return isInstant(from) && isInstant(to) && from < to ? { from, to } : "All";
}

/** Instants beyond these can't be written. */
const farthest = 8.64e15;

function isInstant(ms: unknown): ms is number {
  return typeof ms === "number" && Math.abs(ms) <= farthest;
}

function isColumn(c: unknown): c is Column {
  const { name, type } = (c ?? {}) as Partial<Column>;
  return typeof name === "string" && typeof type === "string";
}

function isValue(v: Value): boolean {
  return v === null || typeof v !== "object";
}

/** The range of a preset: it ends with the newest row, at a whole step. */
export function resolve(range: Preset | Range, first: number, last: number): Range {
  if (typeof range !== "string") return range;
  const length = presets[range];
  const unit = range === "All" ? (last - first > 2 * 864e5 ? 864e5 : 36e5) : length <= 216e5 ? 6e4 : length <= 864e5 ? 36e5 : 864e5;
  const to = (Math.floor(last / unit) + 1) * unit;
  return { from: range === "All" ? Math.floor(first / unit) * unit : to - length, to };
}
