// What is known of columns without a query: statistics of the datasources that a statement reads.
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { ask } from "../api/ask";
import { bytes, count, instant, isTime } from "../api/format";
import type { Column, Value } from "../api/sql";
import type { Schemas } from "../api/types";
import { Dialog } from "../ui/dialog";
import { tablesIn } from "./complete";

export type Statistics = Schemas["ColumnStatistics"];

/** A column of a datasource, and what is known of it. */
export interface Head {
  table: string;
  sampled: boolean;
  of: Statistics;
}

/** Statistics are asked for these many datasources of a statement at most. */
const tableLimit = 4;

/** Asks for the statistics of a datasource; undefined: there are none, or they may not be seen. */
export const statisticsOf = (table: string) => ({
  queryKey: ["statistics", table],
  queryFn: ({ signal }: { signal?: AbortSignal }) =>
    ask("GET /service-ext/console/datasources/{dataSource}/columns", { path: { dataSource: table } }, signal).catch(() => null),
  staleTime: 300_000,
});

/** Returns what is known of the columns of an answer that have the name and type of one of a datasource. */
export function useStatistics(statement: string, columns: Column[]): (Head | undefined)[] {
  const tables = useMemo(() => tablesIn(statement).filter((t) => !/^(sys|INFORMATION_SCHEMA|lookup)\./i.test(t)).slice(0, tableLimit), [statement]);
  const answers = useQueries({ queries: tables.map(statisticsOf) });
  const read = answers.map((a) => a.dataUpdatedAt).join();
  return useMemo(
    () => headsOf(columns, answers.map((a) => a.data)),
    // The answers are another list each time: when they were read tells whether they are others.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [columns, tables, read],
  );
}

export function headsOf(columns: Column[], known: (Schemas["DataSourceStatistics"] | null | undefined)[]): (Head | undefined)[] {
  return columns.map((c) => {
    for (const k of known) {
      const of = k?.columns.find((s) => s.name === c.name && s.type === c.type);
      if (k && of) return { table: k.dataSource, sampled: k.sampled, of };
    }
    return undefined;
  });
}

/** The heights of the small picture: of the histogram, else of the most frequent values. */
export function bars(s: Statistics): number[] {
  const counts = s.histogram.length > 1 ? s.histogram.map((b) => b.count) : s.top.map((t) => t.count);
  const most = Math.max(...counts, 1);
  return counts.map((n) => n / most);
}

export function share(s: Statistics): string {
  const part = s.rows > 0 ? s.nulls / s.rows : 0;
  return part === 0 ? "no NULL" : part < 0.001 ? "<0.1% NULL" : `${(part * 100).toFixed(part < 0.1 ? 1 : 0)}% NULL`;
}

/** The small picture of a column in the head of the grid. */
export function Spark({ head, open }: { head: Head; open: () => void }) {
  const heights = bars(head.of);
  return (
    <button className="spark" tabIndex={-1} aria-label={`What is known of ${head.of.name}`} title={`${share(head.of)}: what is known of ${head.of.name}`} onClick={open}>
      {heights.length > 1 ? heights.map((h, i) => <i key={i} style={{ height: `${Math.max(6, h * 100)}%` }} />) : <span>…</span>}
    </button>
  );
}

interface DetailsProps {
  head: Head;
  zone: string;
  close: () => void;
  filter?: (value: Value) => void;
}

/** All that is known of a column. Numbers that are estimates say so. */
export default function HeadDetails({ head, zone, close, filter }: DetailsProps) {
  const s = head.of;
  const value = (v: unknown) => (v === null || v === undefined ? "not known" : isTime(s.type) ? instant(String(v), zone) : typeof v === "bigint" || Number.isInteger(v) ? count(v as number) : String(v));
  const most = Math.max(...s.top.map((t) => t.count), 1);
  const about = (estimated: boolean) => (estimated ? "about " : "");
  return (
    <Dialog title={s.name} close={close}>
      <dl className="facts">
        <dt>Type</dt>
        <dd>{s.type}</dd>
        <dt>Datasource</dt>
        <dd>{head.table}: {count(s.rows)} rows{head.sampled && " of a sample of its segments"}</dd>
        <dt>NULL</dt>
        <dd>{count(s.nulls)} rows, {share(s)}</dd>
        <dt>Different values</dt>
        <dd>{s.distinct === null || s.distinct === undefined ? "not known" : about(s.distinctEstimated) + count(s.distinct)}</dd>
        <dt>Minimum and maximum</dt>
        <dd>{s.min === null || s.min === undefined ? "not known" : `${about(s.boundsEstimated)}${value(s.min)} to ${value(s.max)}`}</dd>
        <dt>Size on disk</dt>
        <dd>{bytes(s.bytes)}</dd>
      </dl>
      {s.histogram.length > 1 && (
        <>
          <div className="histogram" role="img" aria-label={`Distribution of ${s.name}, estimated by blocks of rows`}>
            {bars(s).map((h, i) => (
              <i key={i} style={{ height: `${Math.max(1, h * 100)}%` }} title={`${value(s.histogram[i]!.from)} to ${value(s.histogram[i]!.to)}: about ${count(s.histogram[i]!.count)}`} />
            ))}
          </div>
          <div className="row muted"><span>{value(s.min)}</span><span className="grow" /><span>{value(s.max)}</span></div>
        </>
      )}
      {s.top.length > 0 && (
        <table className="list">
          <thead>
            <tr><th><span>{s.topEstimated ? "Frequent values, as far as they were counted" : "Most frequent values"}</span></th><th className="num"><span>Rows</span></th><td style={{ width: "35%" }} /></tr>
          </thead>
          <tbody>
            {s.top.map((t) => (
              <tr key={t.value}>
                <td>{filter ? <button className="plain" onClick={() => filter(t.value)}>{t.value || <i className="muted">empty</i>}</button> : t.value}</td>
                <td className="num">{count(t.count)}</td>
                <td><span className="heat" style={{ background: "var(--accent)", width: `${(t.count / most) * 100}%` }} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {s.paths && s.paths.length > 0 && (
        <table className="list">
          <thead><tr><th><span>Path</span></th><th><span>Type</span></th></tr></thead>
          <tbody>{s.paths.map((p) => <tr key={p.path}><td className="mono">{p.path}</td><td>{p.type}</td></tr>)}</tbody>
        </table>
      )}
      <p className="muted">Read from the segments' own descriptions, without a query.</p>
    </Dialog>
  );
}
