// EXPLAIN ANALYZE as a tree, coloured by where the time went.
import { bytes, count, duration } from "../api/format";
import type { Row } from "../api/sql";

export interface Operator {
  depth: number;
  name: string;
  rows?: number;
  bytes?: number;
  ms?: number;
  memory?: number;
  spilled?: number;
  more: string;
}

export interface Plan {
  operators: Operator[];
  /** The last line: rows, planning, running, memory of the whole. */
  summary: string;
}

/** Reads the lines of a plan: an operator a line, two spaces for each step down the tree. */
export function readPlan(lines: string[]): Plan | undefined {
  const operators: Operator[] = [];
  let summary = "";
  for (const line of lines) {
    const m = /^( *)(.*) \(((?:[\w.]+=[^ ]+ ?)+)\)$/.exec(line);
    if (!m) {
      if (line.trim() !== "") summary = line;
      continue;
    }
    const facts = Object.fromEntries(m[3]!.trim().split(" ").map((f) => f.split("=") as [string, string]));
    const number = (key: string) => (facts[key] === undefined ? undefined : parseFloat(facts[key]!));
    const known = new Set(["rows", "bytes", "time", "memory", "spilled"]);
    operators.push({
      depth: m[1]!.length / 2, name: m[2]!, rows: number("rows"), bytes: number("bytes"), ms: number("time"), memory: number("memory"), spilled: number("spilled"),
      more: Object.entries(facts).filter(([k]) => !known.has(k)).map(([k, v]) => `${k}=${v}`).join(" "),
    });
  }
  return operators.length > 0 ? { operators, summary } : undefined;
}

/** Reads a plan from a result, if it is one. */
export function planOf(statement: string, rows: Row[]): Plan | undefined {
  if (!/^\s*EXPLAIN\s+ANALYZE\b/i.test(statement)) return undefined;
  return readPlan(rows.map((r) => String(r[0] ?? "")));
}

export function PlanTree({ plan }: { plan: Plan }) {
  const longest = Math.max(...plan.operators.map((o) => o.ms ?? 0), 0.001);
  return (
    <div className="plan scroll grow" tabIndex={0} role="region" aria-label="Plan">
      <table>
        <thead>
          <tr>
            <th>Operator</th>
            <th className="num">Time</th>
            <th aria-hidden="true" style={{ minWidth: 120 }} />
            <th className="num">Rows</th>
            <th className="num">Bytes</th>
            <th className="num">Memory</th>
            <th className="num">Spilled</th>
            <th>Details</th>
          </tr>
        </thead>
        <tbody>
          {plan.operators.map((o, i) => (
            <tr key={i}>
              <td style={{ paddingLeft: 10 + o.depth * 18 }}>{o.name}</td>
              <td className="num">{o.ms === undefined ? "" : duration(o.ms)}</td>
              <td>
                <span className="heat" style={{ width: `${Math.max(1, ((o.ms ?? 0) / longest) * 110)}px` }} />
              </td>
              <td className="num">{o.rows === undefined ? "" : count(o.rows)}</td>
              <td className="num">{o.bytes === undefined ? "" : bytes(o.bytes)}</td>
              <td className="num">{o.memory === undefined ? "" : bytes(o.memory)}</td>
              <td className="num">{o.spilled ? bytes(o.spilled) : ""}</td>
              <td className="muted">{o.more}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted" style={{ padding: "4px 10px" }}>{plan.summary}</p>
    </div>
  );
}
