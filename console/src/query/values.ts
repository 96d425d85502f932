// Numbers of charts.
import { count } from "../api/format";
import type { Value } from "../api/sql";

export const colours = ["#3b6fd4", "#d2691e", "#2e9e5b", "#b0489c", "#c2a01c", "#4aa3b8", "#8661d1", "#d1495b", "#6b8e23", "#7a7f87", "#a0522d", "#008b8b"];

export function number(v: Value | undefined): number | null {
  return typeof v === "number" ? v : typeof v === "bigint" ? Number(v) : null;
}

/** Writes a number of a chart; whole ones with separators. */
export function shown(n: number | null): string {
  return n === null ? "NULL" : Number.isInteger(n) ? count(n) : String(Number(n.toPrecision(8)));
}
