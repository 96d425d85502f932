// What an exploration shows: the range, filters, totals, a chart over the time and the largest groups.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { count, instant, plain } from "../api/format";
import type { Column, Row, Value } from "../api/sql";
import { useSettings } from "../settings";
import { Failure, Skeleton } from "../ui/parts";
import { useDark } from "../ui/theme";
import { rowsOf, type Answer } from "./ask";
import { before, change as changeOf, nameOf, series, top, totals, type Exploration, type Filter, type Order, type Range } from "./sql";
import { presets, type Chosen, type Preset } from "./state";

const Chart = lazy(() => import("../query/chart"));

interface StepProps {
  e: Exploration;
  chosen: Chosen;
  change: (c: Partial<Chosen>) => void;
}

/** Reads the answers of statements; while new ones are asked, the ones before stay. */
function useAnswers<T>(name: string, statements: string[], about: T) {
  return useQuery({
    queryKey: ["explore", name, ...statements],
    queryFn: async ({ signal }) => ({ about, answers: await Promise.all(statements.map((s) => rowsOf(s, signal))) }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function Steps(props: StepProps) {
  return (
    <div className="stack">
      <RangeBar {...props} />
      <Chips {...props} />
      <Totals {...props} />
      <Series {...props} />
      <Groups {...props} />
    </div>
  );
}

function RangeBar({ e, chosen, change }: StepProps) {
  const { zone } = useSettings();
  const [open, setOpen] = useState(false);
  const at = (ms: number) => instant(new Date(ms).toISOString(), zone);
  return (
    <div className="stack" style={{ gap: 6 }}>
      <div className="row" role="group" aria-label="Time range">
        {(Object.keys(presets) as Preset[]).map((p) => (
          <button key={p} aria-pressed={chosen.range === p} onClick={() => change({ range: p })}>
            {p}
          </button>
        ))}
        <button aria-expanded={open} aria-pressed={typeof chosen.range !== "string"} onClick={() => setOpen(!open)}>
          From, to
        </button>
        <span className="grow" />
        <label className="row">
          <input type="checkbox" checked={chosen.compare} onChange={(x) => change({ compare: x.target.checked })} /> Compare with the previous period
        </label>
      </div>
      {open && <OwnRange key={`${e.range.from} ${e.range.to} ${zone}`} range={e.range} zone={zone} take={(range) => (change({ range }), setOpen(false))} />}
      <div className="muted">
        {at(e.range.from)} to {at(e.range.to)}
        {e.compare && `, compared with ${at(before(e.range).from)} to ${at(e.range.from)}`}
      </div>
    </div>
  );
}

/** Reads an instant that was written in a zone: UTC, or the browser's own. */
function parseIn(text: string, zone: string): number {
  const iso = text.trim().replace(" ", "T");
  return Date.parse(zone === "UTC" && !/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? `${iso.length === 10 ? `${iso}T00:00` : iso}Z` : iso.length === 10 ? `${iso}T00:00` : iso);
}

function OwnRange({ range, zone, take }: { range: Range; zone: string; take: (r: Range) => void }) {
  const [from, setFrom] = useState(() => instant(new Date(range.from).toISOString(), zone));
  const [to, setTo] = useState(() => instant(new Date(range.to).toISOString(), zone));
  const r = { from: parseIn(from, zone), to: parseIn(to, zone) };
  const fault = Number.isNaN(r.from) || Number.isNaN(r.to) ? "Write times as 2026-01-31 or 2026-01-31 10:00." : r.from >= r.to ? "The range ends before it starts." : undefined;
  return (
    <form className="row" onSubmit={(e) => (e.preventDefault(), fault === undefined && take(r))}>
      <label>
        From <input value={from} onChange={(e) => setFrom(e.target.value)} autoFocus size={21} />
      </label>
      <label>
        to <input value={to} onChange={(e) => setTo(e.target.value)} size={21} />
      </label>
      <button className="primary" disabled={fault !== undefined}>Show</button>
      {fault && <span className="bad">{fault}</span>}
    </form>
  );
}

function Chips({ chosen, change }: StepProps) {
  const { zone } = useSettings();
  if (chosen.filters.length === 0) return null;
  const replace = (i: number, by?: Filter) => change({ filters: chosen.filters.flatMap((f, j) => (i !== j ? [f] : by ? [by] : [])) });
  return (
    <div className="row" role="group" aria-label="Filters">
      {chosen.filters.map((f, i) => {
        const text = `${f.column.name} ${f.not ? "is not" : "is"} ${valueText(f.column, f.value, zone)}`;
        return (
          <span className="chip" key={i}>
            <button title={`${text}: invert`} onClick={() => replace(i, { ...f, not: !f.not })}>
              {text}
            </button>
            <button aria-label={`Remove ${text}`} onClick={() => replace(i)}>
              ×
            </button>
          </span>
        );
      })}
      {chosen.filters.length > 1 && (
        <button className="plain" onClick={() => change({ filters: [] })}>
          Remove all
        </button>
      )}
    </div>
  );
}

/** How much of a long value is shown. */
const textLimit = 200;

function valueText(column: Column, value: Value, zone: string): string {
  if (value === null) return "NULL";
  if (value === "") return '""';
  const text = column.type === "TIMESTAMP" ? instant(String(value), zone) : plain(value);
  return text.length > textLimit ? `${text.slice(0, textLimit)}…` : text;
}

/** Writes a number as people read it: separators, and few places behind the point. */
export function figure(v: Value | undefined): string {
  if (v === null || v === undefined) return "NULL";
  if (typeof v === "bigint" || (typeof v === "number" && Number.isInteger(v))) return count(v);
  if (typeof v !== "number") return plain(v);
  return Math.abs(v) >= 1 ? v.toLocaleString("en-US", { maximumFractionDigits: 2 }) : String(Number(v.toPrecision(3)));
}

function Change({ now, past }: { now: Value | undefined; past: Value | undefined }) {
  const c = changeOf(now, past);
  if (!c) return <span className="muted">—</span>;
  const sign = c.by > 0 ? "+" : "";
  return (
    <span className={c.by > 0 ? "good" : c.by < 0 ? "bad" : "muted"}>
      {sign}
      {figure(c.by)}
    </span>
  );
}

function Share({ now, past }: { now: Value | undefined; past: Value | undefined }) {
  const c = changeOf(now, past);
  if (c?.share === undefined) return <span className="muted">—</span>;
  return (
    <span className={c.share > 0 ? "good" : c.share < 0 ? "bad" : "muted"}>
      {c.share > 0 ? "+" : ""}
      {(c.share * 100).toLocaleString("en-US", { maximumFractionDigits: 1 })} %
    </span>
  );
}

/** The frame of a step: its name, whether it is asked again, its statement, and what is wrong. */
function Step({ title, query, statements, children, actions }: {
  title: string;
  query: { error: Error | null; isPending: boolean; isFetching: boolean; refetch: () => unknown };
  statements: string[];
  children: ReactNode;
  actions?: ReactNode;
}) {
  const sql = statements.join(";\n\n");
  return (
    <section className="card stack" aria-label={title} aria-busy={query.isFetching} style={{ gap: 8 }}>
      <div className="row">
        <h2 className="grow" style={{ margin: 0 }}>{title}</h2>
        {actions}
      </div>
      <div className="progress" style={{ visibility: query.isFetching ? "visible" : "hidden" }}>
        <span />
      </div>
      {query.error ? <Failure error={query.error} retry={() => void query.refetch()} /> : query.isPending ? <Skeleton lines={3} /> : children}
      <details className="sql">
        <summary>SQL</summary>
        <pre>{sql}</pre>
        <div className="row">
          {statements.map((s, i) => (
            <Link key={i} href={`/query?sql=${encodeURIComponent(s)}`}>
              {i === 0 ? "Open in Query" : "Open the previous period"}
            </Link>
          ))}
          <button onClick={() => void navigator.clipboard.writeText(sql)}>Copy</button>
        </div>
      </details>
    </section>
  );
}

function Totals({ e, chosen, change }: StepProps) {
  const sql = totals(e);
  const q = useAnswers("totals", [sql], e);
  const about = q.data?.about ?? e;
  const row: Row = q.data?.answers[0]?.rows[0] ?? [];
  const wide = about.compare ? 2 : 1;
  return (
    <Step title="Totals" query={q} statements={[sql]}>
      <div className="cards" role="group" aria-label="Measure in the chart">
        {about.measures.map((m, i) => (
          <button key={nameOf(m)} className="total" aria-pressed={i === chosen.drawn} onClick={() => change({ drawn: i })}>
            <div>{nameOf(m)}</div>
            <div className="figure">{figure(row[i * wide])}</div>
            {about.compare && (
              <div>
                <Change now={row[i * wide]} past={row[i * wide + 1]} /> (<Share now={row[i * wide]} past={row[i * wide + 1]} />){" "}
                <span className="muted">from {figure(row[i * wide + 1])}</span>
              </div>
            )}
          </button>
        ))}
      </div>
    </Step>
  );
}

function Series({ e, chosen, change }: StepProps) {
  const { zone } = useSettings();
  const dark = useDark();
  const measure = e.measures[chosen.drawn] ?? e.measures[0]!;
  const statements = [series(e, measure, e.range), ...(e.compare ? [series(e, measure, before(e.range))] : [])];
  const q = useAnswers("series", statements, { measure, range: e.range });
  const drawn = q.data && linesOf(q.data.answers, nameOf(q.data.about.measure), q.data.about.range);
  return (
    <Step title={`${nameOf(measure)} over time`} query={q} statements={statements}>
      {drawn && drawn.rows.length > 0 ? (
        <div className="box">
          <Suspense fallback={<Skeleton lines={4} />}>
            <Chart
              key={String(dark)} columns={drawn.columns} rows={drawn.rows} zone={zone}
              brush={(from, to) => change({ range: { from: Date.parse(from), to: Date.parse(to) } })}
            />
          </Suspense>
        </div>
      ) : (
        <div className="empty">No rows in this range.</div>
      )}
    </Step>
  );
}

/** One row for each step of time: the measure, and that of the period before at the same distance. */
export function linesOf(answers: Answer[], name: string, range: Range): { columns: Column[]; rows: Row[] } {
  const [now, past] = answers;
  const columns: Column[] = [{ name: "time", type: "TIMESTAMP" }, { name, type: "DOUBLE" }];
  if (past) columns.push({ name: "before", type: "DOUBLE" });
  const at = new Map<number, Row>();
  const put = (answer: Answer | undefined, place: number, shift: number) => {
    for (const [time, value] of answer?.rows ?? []) {
      const ms = Date.parse(String(time)) + shift;
      let row = at.get(ms);
      if (!row) at.set(ms, (row = [new Date(ms).toISOString(), null, ...(past ? [null] : [])]));
      row[place] = value ?? null;
    }
  };
  put(now, 1, 0);
  put(past, 2, range.to - range.from);
  return { columns, rows: [...at].sort((a, b) => a[0] - b[0]).map(([, row]) => row) };
}

const limits = [10, 50, 200];

function Groups({ e, chosen, change }: StepProps) {
  const { zone } = useSettings();
  const [limit, setLimit] = useState(limits[0]!);
  if (e.dimensions.length === 0) {
    return <div className="empty card">Select a dimension to see its largest groups, then click a value to filter by it.</div>;
  }
  return <GroupTable key={e.dimensions.map((d) => d.name).join("\0")} {...{ e, chosen, change, zone, limit, setLimit }} />;
}

function GroupTable({ e, chosen, change, zone, limit, setLimit }: StepProps & { zone: string; limit: number; setLimit: (n: number) => void }) {
  const sql = top(e, chosen.order, limit);
  const q = useAnswers("top", [sql], e);
  const about = q.data?.about ?? e;
  const rows = q.data?.answers[0]?.rows ?? [];
  const names = e.dimensions.map((d) => d.name).join(", ");
  return (
    <Step
      title={`Largest groups of ${names}`} query={q} statements={[sql]}
      actions={
        <label>
          Groups{" "}
          <select value={limit} onChange={(x) => setLimit(Number(x.target.value))}>
            {limits.map((n) => (
              <option key={n}>{n}</option>
            ))}
          </select>
        </label>
      }
    >
      {rows.length === 0 ? (
        <div className="empty">No rows in this range.</div>
      ) : (
        <GroupRows about={about} rows={rows} zone={zone} order={chosen.order} sort={(order) => change({ order })} drill={(f) => change({ filters: [...chosen.filters.filter((o) => !sameFilter(o, f)), f] })} />
      )}
    </Step>
  );
}

function sameFilter(a: Filter, b: Filter): boolean {
  return a.column.name === b.column.name && a.value === b.value;
}

function GroupRows({ about, rows, zone, order, sort, drill }: {
  about: Exploration;
  rows: Row[];
  zone: string;
  order: Order;
  sort: (order: Order) => void;
  drill: (f: Filter) => void;
}) {
  const dims = about.dimensions.length;
  const wide = about.compare ? 2 : 1;
  const largest = about.measures.map((_, i) => Math.max(...rows.map((r) => Math.abs(Number(r[dims + i * wide] ?? 0)) || 0), Number.MIN_VALUE));
  const head = (text: string, measure: number, by: Order["by"]) => {
    const is = order.measure === measure && order.by === by;
    return (
      <th key={`${measure} ${by}`} className="num" aria-sort={is ? (order.down ? "descending" : "ascending") : undefined}>
        <button onClick={() => sort({ measure, by, down: is ? !order.down : true })}>
          {text} {is && <span aria-hidden="true">{order.down ? "↓" : "↑"}</span>}
        </button>
      </th>
    );
  };
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Groups">
      <table className="list">
        <thead>
          <tr>
            {about.dimensions.map((d) => (
              <th key={d.name}>
                <span>{d.name}</span>
              </th>
            ))}
            {about.measures.flatMap((m, i) => [
              head(nameOf(m), i, "now"),
              ...(about.compare ? [head("before", i, "before"), head("change", i, "change"), <th key={`${i} share`} className="num"><span>%</span></th>] : []),
            ])}
          </tr>
        </thead>
        <tbody>
          {rows.map((r, n) => (
            <tr key={n}>
              {about.dimensions.map((d, i) => {
                const value = r[i] ?? null;
                const text = valueText(d, value, zone);
                return (
                  <td key={d.name}>
                    <button className="plain" title={`Only rows whose ${d.name} is ${text}`} onClick={() => drill({ column: d, value, not: false })}>
                      {text}
                    </button>
                  </td>
                );
              })}
              {about.measures.flatMap((_, i) => {
                const [now, past] = [r[dims + i * wide], r[dims + i * wide + 1]];
                return [
                  <td key={`${i}`} className="num">
                    {figure(now)}
                    <div className="meter" aria-hidden="true">
                      <span style={{ width: `${(Math.abs(Number(now ?? 0)) / largest[i]!) * 100}%` }} />
                    </div>
                  </td>,
                  ...(about.compare
                    ? [
                        <td key={`${i} before`} className="num">{figure(past)}</td>,
                        <td key={`${i} change`} className="num"><Change now={now} past={past} /></td>,
                        <td key={`${i} share`} className="num"><Share now={now} past={past} /></td>,
                      ]
                    : []),
                ];
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
