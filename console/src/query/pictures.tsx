// Charts that are drawn without a plot: heat maps and pies.
import { useMemo } from "react";
import { count, instant, isTime, plain } from "../api/format";
import type { Column, Row, Value } from "../api/sql";
import { colours, number, shown } from "./values";

const heatColumns = 60;
const heatRows = 30;
const pieParts = 10;

interface Cells {
  xs: Value[];
  names: string[];
  /** By row and column: the sum of the numbers that fall there; undefined: none. */
  values: (number | undefined)[][];
  left: number;
}

/** Makes the cells of a heat map: the rows with the most first, columns in the order that they sort in. */
export function cellsOf(rows: Row[], x: number, by: number, y: number): Cells {
  const sums = new Map<string, Map<string, number>>();
  const keys = new Map<string, Value>();
  for (const r of rows) {
    const n = number(r[y]);
    if (n === null) continue;
    const name = r[by] === null || r[by] === undefined ? "NULL" : plain(r[by]);
    const at = r[x] ?? null;
    const key = at === null ? "NULL" : plain(at);
    keys.set(key, at);
    const line = sums.get(name) ?? new Map<string, number>();
    sums.set(name, line);
    line.set(key, (line.get(key) ?? 0) + n);
  }
  const all = [...keys.keys()].sort();
  const xs = all.slice(-heatColumns);
  const total = (m: Map<string, number>) => [...m.values()].reduce((a, b) => a + Math.abs(b), 0);
  const lines = [...sums].sort((a, b) => total(b[1]) - total(a[1]));
  const drawn = lines.slice(0, heatRows);
  return {
    xs: xs.map((k) => keys.get(k)!), names: drawn.map(([n]) => n), values: drawn.map(([, m]) => xs.map((k) => m.get(k))),
    left: lines.length - drawn.length + (all.length - xs.length),
  };
}

interface HeatProps {
  columns: Column[];
  rows: Row[];
  x: number;
  by: number;
  y: number;
  zone: string;
}

export function Heat({ columns, rows, x, by, y, zone }: HeatProps) {
  const cells = useMemo(() => cellsOf(rows, x, by, y), [rows, x, by, y, rows.length]);
  const all = cells.values.flat().filter((v) => v !== undefined);
  const least = Math.min(0, ...all);
  const most = Math.max(...all, least + Number.MIN_VALUE);
  const label = (v: Value) => (v === null ? "NULL" : isTime(columns[x]!.type) ? instant(String(v), zone) : plain(v));
  const labels = cells.xs.map((v) => label(v).replace(/ 00:00:00$/, "").replace(/:00$/, ""));
  // Of narrow columns only some can be named above them; the names of all are read out.
  const every = Math.ceil((Math.max(...labels.map((l) => l.length), 1) * 7 + 8) / 19);
  return (
    <div className="scroll grow" tabIndex={0} role="region" aria-label="Heat map">
      <table className="heatmap">
        <thead>
          <tr>
            <th>{columns[by]!.name} by {columns[x]!.name}</th>
            {cells.xs.map((v, i) => (
              <th key={i} title={label(v)}><span className={i % every === 0 ? undefined : "sr"}>{labels[i]}</span></th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.names.map((name, r) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {cells.values[r]!.map((v, i) => (
                <td
                  key={i} title={`${name}, ${label(cells.xs[i]!)}: ${v === undefined ? "nothing" : shown(v)}`}
                  style={v === undefined ? undefined : { background: `color-mix(in srgb, var(--accent) ${Math.round(8 + ((v - least) / (most - least)) * 92)}%, var(--bg))` }}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted" style={{ padding: "4px 10px" }}>
        {columns[y]!.name}: from {shown(all.length > 0 ? Math.min(...all) : null)} to {shown(all.length > 0 ? Math.max(...all) : null)}.
        {cells.left > 0 && ` ${count(cells.left)} smaller rows or earlier columns are not drawn.`}
      </p>
    </div>
  );
}

interface Part {
  name: string;
  n: number;
}

/** Returns the parts of a pie, the largest first; what is small is one part. */
export function partsOf(rows: Row[], x: number, y: number): Part[] {
  const sums = new Map<string, number>();
  for (const r of rows) {
    const n = number(r[y]);
    if (n === null || n <= 0) continue;
    const name = r[x] === null || r[x] === undefined ? "NULL" : plain(r[x]);
    sums.set(name, (sums.get(name) ?? 0) + n);
  }
  const all = [...sums].map(([name, n]) => ({ name, n })).sort((a, b) => b.n - a.n);
  if (all.length <= pieParts) return all;
  const rest = all.slice(pieParts - 1);
  return [...all.slice(0, pieParts - 1), { name: `${count(rest.length)} others`, n: rest.reduce((a, p) => a + p.n, 0) }];
}

export function Pie({ columns, rows, x, y }: { columns: Column[]; rows: Row[]; x: number; y: number }) {
  const parts = useMemo(() => partsOf(rows, x, y), [rows, x, y, rows.length]);
  const sum = parts.reduce((a, p) => a + p.n, 0);
  if (sum === 0) return <div className="empty">A pie needs numbers above 0.</div>;
  let angle = -Math.PI / 2;
  const point = (a: number) => `${50 + 48 * Math.cos(a)} ${50 + 48 * Math.sin(a)}`;
  return (
    <div className="pie grow">
      <svg viewBox="0 0 100 100" role="img" aria-label={`Parts of ${columns[y]!.name} by ${columns[x]!.name}`}>
        {parts.map((p, i) => {
          const from = angle;
          angle += (p.n / sum) * 2 * Math.PI;
          if (parts.length === 1) return <circle key={i} cx="50" cy="50" r="48" fill={colours[0]} />;
          return (
            <path key={i} d={`M50 50 L${point(from)} A48 48 0 ${angle - from > Math.PI ? 1 : 0} 1 ${point(angle)} Z`} fill={colours[i % colours.length]} stroke="var(--bg)" strokeWidth="0.6">
              <title>{`${p.name}: ${shown(p.n)}`}</title>
            </path>
          );
        })}
      </svg>
      <div className="scroll" tabIndex={0} role="region" aria-label="Parts">
        <table className="list">
          <tbody>
            {parts.map((p, i) => (
              <tr key={p.name}>
                <td><span className="swatch" style={{ background: colours[i % colours.length] }} /> {p.name}</td>
                <td className="num">{shown(p.n)}</td>
                <td className="num muted">{((p.n / sum) * 100).toFixed(1)}%</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
