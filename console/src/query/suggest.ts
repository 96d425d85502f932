// Which charts fit a result, by the types of its columns.
import { isNumeric, isTime } from "../api/format";
import type { Column } from "../api/sql";

export const chartKinds = { line: "Line", bar: "Bar", stack: "Stacked", heat: "Heat map", pie: "Pie" } as const;
export type ChartKind = keyof typeof chartKinds;

export interface Suggestion {
  kind: ChartKind;
  /** The column along the bottom. */
  x: number;
  /** The columns that are drawn. */
  ys: number[];
  /** A column whose values are lines, rows or parts of their own, if there is one. */
  by?: number;
}

/** Returns the charts that fit, the best first; none without a number. */
export function suggestions(columns: Column[]): Suggestion[] {
  const at = (fits: (c: Column) => boolean) => columns.flatMap((c, i) => (fits(c) ? [i] : []));
  const numbers = at((c) => isNumeric(c.type));
  const times = at((c) => isTime(c.type));
  const texts = at((c) => !isTime(c.type) && !isNumeric(c.type));
  const y = numbers[0];
  if (y === undefined) return [];
  const out: Suggestion[] = [];
  const [time, text, second] = [times[0], texts[0], texts[1]];
  if (time !== undefined) {
    const ys = text === undefined ? numbers.slice(0, 6) : [y];
    out.push({ kind: "line", x: time, ys, by: text });
    if (ys.length > 1 || text !== undefined) out.push({ kind: "stack", x: time, ys, by: text });
    if (text !== undefined) out.push({ kind: "heat", x: time, ys: [y], by: text });
    out.push({ kind: "bar", x: text ?? time, ys: [y] });
  } else if (text !== undefined) {
    const cross: Suggestion[] = second === undefined ? [] : [{ kind: "heat", x: second, ys: [y], by: text }];
    out.push(...cross, { kind: "bar", x: text, ys: [y] });
  } else if (numbers.length > 1) {
    out.push({ kind: "line", x: y, ys: numbers.slice(1, 7) });
    if (numbers.length > 2) out.push({ kind: "stack", x: y, ys: numbers.slice(1, 7) });
  }
  if (text !== undefined) out.push({ kind: "pie", x: text, ys: [y] });
  return out;
}
