// Charts of a result, suggested by the types of its columns.
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, instant, isTime, plain } from "../api/format";
import type { Column, Row, Value } from "../api/sql";
import { useDark } from "../ui/theme";
import { Heat, Pie } from "./pictures";
import { chartKinds, suggestions, type ChartKind, type Suggestion } from "./suggest";
import { colours, number, shown } from "./values";

const lineLimit = 12;
const barLimit = 40;

/** The lines of a chart: the values at the bottom, and a list of the same length for each line. */
export interface Lines {
  xs: number[];
  names: string[];
  ys: (number | null)[][];
  /** How many lines there are beyond those that are drawn. */
  left: number;
}

/** Makes the lines of rows: one for each number, or one for each value of the column by. */
export function linesOf(columns: Column[], rows: Row[], s: Suggestion): Lines {
  const isInstant = isTime(columns[s.x]!.type);
  const xOf = (r: Row) => (isInstant ? Date.parse(String(r[s.x])) / 1000 : (number(r[s.x]) ?? NaN));
  const points = new Map<string, Map<number, number | null>>();
  for (const r of rows) {
    const x = xOf(r);
    if (Number.isNaN(x)) continue;
    for (const y of s.ys) {
      const name = s.by === undefined ? columns[y]!.name : plain(r[s.by] ?? null) || "NULL";
      let line = points.get(name);
      if (!line) points.set(name, (line = new Map()));
      line.set(x, number(r[y]));
    }
  }
  const weight = (m: Map<number, number | null>) => [...m.values()].reduce<number>((a, v) => a + Math.abs(v ?? 0), 0);
  const all = [...points].sort((a, b) => (s.by === undefined ? 0 : weight(b[1]) - weight(a[1])));
  const drawn = all.slice(0, lineLimit);
  const xs = [...new Set(drawn.flatMap(([, m]) => [...m.keys()]))].sort((a, b) => a - b);
  return { xs, names: drawn.map(([n]) => n), ys: drawn.map(([, m]) => xs.map((x) => m.get(x) ?? null)), left: all.length - drawn.length };
}

/** Puts each line on top of those before it: the sums, with what is not known as nothing. */
export function stacked(ys: (number | null)[][]): number[][] {
  const sums: number[] = [];
  return ys.map((line) => line.map((y, i) => (sums[i] = (sums[i] ?? 0) + (y ?? 0))));
}

interface Props {
  columns: Column[];
  rows: Row[];
  zone: string;
  brush?: (from: string, to: string) => void;
  kind?: ChartKind;
  /** Is told which kind is chosen; without it the chart keeps that itself. */
  setKind?: (kind: ChartKind) => void;
}

export default function Chart({ columns, rows, zone, brush, kind, setKind }: Props) {
  const fitting = useMemo(() => suggestions(columns), [columns]);
  const [own, setOwn] = useState<ChartKind>();
  const chosen = fitting.find((s) => s.kind === (own ?? kind)) ?? fitting[0];
  if (!chosen) return <div className="empty">A chart needs a column of numbers, and a time, a text or a second number beside it.</div>;
  const lines = chosen.kind === "line" || chosen.kind === "stack";
  const y = chosen.ys[0]!;
  return (
    <div className="grow" style={{ display: "flex", flexDirection: "column", minHeight: 0 }}>
      <div className="row" role="group" aria-label="Kind of chart" style={{ marginBottom: 6 }}>
        {fitting.map((s) => (
          <button key={s.kind} aria-pressed={s === chosen} onClick={() => (setOwn(s.kind), setKind?.(s.kind))}>
            {chartKinds[s.kind]}
          </button>
        ))}
        {brush && lines && isTime(columns[chosen.x]!.type) && <span className="muted">Drag over a range to query it alone.</span>}
      </div>
      {lines && <LineChart columns={columns} rows={rows} s={chosen} zone={zone} brush={brush} />}
      {chosen.kind === "bar" && <Bars columns={columns} rows={rows} x={chosen.x} y={y} zone={zone} />}
      {chosen.kind === "heat" && <Heat columns={columns} rows={rows} x={chosen.x} by={chosen.by!} y={y} zone={zone} />}
      {chosen.kind === "pie" && <Pie columns={columns} rows={rows} x={chosen.x} y={y} />}
    </div>
  );
}

/** Writes instants, given in seconds, below an axis: the time of the day, and the date where it changes. */
export function timeTicks(ticks: number[], zone: string): string[] {
  let before = "";
  return ticks.map((t) => {
    const [date, time] = instant(new Date(t * 1000).toISOString(), zone).split(" ") as [string, string];
    const text = date === before ? time.replace(/:00$/, "") : `${time.replace(/:00$/, "")}\n${date}`;
    before = date;
    return text;
  });
}

function LineChart({ columns, rows, s, zone, brush }: { columns: Column[]; rows: Row[]; s: Suggestion; zone: string; brush?: (from: string, to: string) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(columns, rows, s), [columns, rows, s.x, s.by, s.ys.join()]);
  const timed = isTime(columns[s.x]!.type);
  const dark = useDark();
  useEffect(() => {
    const el = place.current!;
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--text-2");
    const grid = { stroke: style.getPropertyValue("--bg-3"), width: 1 };
    const stack = s.kind === "stack";
    // The sums are drawn from the largest down, so that each area hides the lower part of the one before.
    const order = lines.names.map((_, i) => (stack ? lines.names.length - 1 - i : i));
    const drawn = stack ? stacked(lines.ys) : lines.ys;
    const values = (_: uPlot, ticks: number[]) => ticks.map((t) => count(t));
    const plot = new uPlot(
      {
        width: el.clientWidth, height: Math.max(160, el.clientHeight - 40),
        tzDate: (at) => (zone === "UTC" ? uPlot.tzDate(new Date(at * 1000), "Etc/UTC") : uPlot.tzDate(new Date(at * 1000), zone)),
        scales: { x: { time: timed }, ...(stack && { y: { range: (_: uPlot, __: number, most: number): [number, number] => [0, most * 1.05 || 1] } }) },
        axes: [{ stroke: text, grid, space: 90, values: timed ? (_, ticks) => timeTicks(ticks, zone) : values }, { stroke: text, grid, values, size: 80 }],
        series: [timed ? { value: (_, at: number | null) => (at === null ? "" : instant(new Date(at * 1000).toISOString(), zone)) } : {}, ...order.map((i) => ({
          label: lines.names[i], stroke: colours[i % colours.length], width: 1.5, spanGaps: false, fill: stack ? colours[i % colours.length] : undefined,
          value: (_: uPlot, __: number | null, ___: number, at: number | null) => (at === null ? "" : shown(lines.ys[i]![at] ?? null)),
        }))],
        hooks: {
          setSelect: [
            (u) => {
              if (!timed || !brush || u.select.width < 4) return;
              const at = (px: number) => new Date(u.posToVal(px, "x") * 1000).toISOString();
              brush(at(u.select.left), at(u.select.left + u.select.width));
            },
          ],
        },
      },
      [lines.xs, ...order.map((i) => drawn[i]!)] as uPlot.AlignedData,
      el,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: el.clientWidth, height: Math.max(160, el.clientHeight - 40) }));
    resized.observe(el);
    return () => (resized.disconnect(), plot.destroy());
  }, [lines, zone, timed, brush, s.kind, dark]);
  return (
    <>
      <div ref={place} className="grow" style={{ minHeight: 200, overflow: "hidden" }} role="img" aria-label={`Lines of ${lines.names.join(", ")}`} />
      {lines.left > 0 && <p className="muted">{count(lines.left)} smaller lines are not shown.</p>}
    </>
  );
}

/** Returns the sum for each value of a column, in the order in which they come. */
export function sumsOf(rows: Row[], x: number, y: number): { label: Value; n: number | null }[] {
  const sums = new Map<string, { label: Value; n: number | null }>();
  for (const r of rows) {
    const label = r[x] ?? null;
    const key = label === null ? "" : `=${plain(label)}`;
    const n = number(r[y]);
    const sum = sums.get(key);
    if (!sum) sums.set(key, { label, n });
    else if (n !== null) sum.n = (sum.n ?? 0) + n;
  }
  return [...sums.values()];
}

function Bars({ columns, rows, x, y, zone }: { columns: Column[]; rows: Row[]; x: number; y: number; zone: string }) {
  const summed = useMemo(() => sumsOf(rows, x, y), [rows, x, y, rows.length]);
  const first = summed.slice(0, barLimit);
  const largest = Math.max(...first.map((r) => Math.abs(r.n ?? 0)), Number.MIN_VALUE);
  return (
    <div className="scroll grow" tabIndex={0} role="region" aria-label="Bars">
      <table className="list">
        <thead>
          <tr>
            <th><span>{columns[x]!.name}</span></th>
            <th className="num"><span>{columns[y]!.name}</span></th>
            <td style={{ width: "60%" }} />
          </tr>
        </thead>
        <tbody>
          {first.map((r, i) => {
            const { n, label } = r;
            return (
              <tr key={i}>
                <td>{label === null ? "NULL" : isTime(columns[x]!.type) ? instant(String(label), zone) : plain(label)}</td>
                <td className="num">{shown(n)}</td>
                <td>
                  <span className="heat" style={{ background: "var(--accent)", width: `${(Math.abs(n ?? 0) / largest) * 100}%` }} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {summed.length > barLimit && <p className="muted" style={{ padding: 8 }}>The first {barLimit} of {count(summed.length)} values are drawn.</p>}
    </div>
  );
}
