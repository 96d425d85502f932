// Segments over time as a picture: how much there is of each stretch, and whether it is loaded.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { bytes, count, instant } from "../api/format";
import { literal, select } from "../api/sql";
import { useSettings } from "../settings";
import { Failure, Skeleton } from "../ui/parts";
import { Choice, counted } from "./parts";

/** The segments of one stretch of time. */
export interface Interval {
  from: number;
  to: number;
  segments: number;
  rows: number;
  size: number;
  /** How many are loaded as the rules want it, and how many are to be in deep storage only. */
  loaded: number;
  deep: number;
}

/** As many stretches are read at most; of more the newest are shown. */
export const mostIntervals = 5_000;

export function intervalsOf(dataSource: string | undefined): string {
  const where = dataSource === undefined ? "" : ` AND datasource = ${literal(dataSource)}`;
  return `SELECT "start" AS s, "end" AS e, COUNT(*) AS n, SUM(num_rows) AS r, SUM("size") AS b,
 SUM(is_available) AS a, SUM(CASE WHEN is_available = 0 AND replication_factor = 0 THEN 1 ELSE 0 END) AS d
 FROM sys.segments WHERE is_active = 1${where} GROUP BY 1, 2 ORDER BY 1 DESC LIMIT ${mostIntervals}`;
}

export function useIntervals(dataSource: string | undefined) {
  return useQuery({
    queryKey: ["intervals", dataSource],
    queryFn: async ({ signal }) => {
      const rows = await select<{ s: string; e: string; n: number; r: number; b: number; a: number; d: number }>(intervalsOf(dataSource), signal);
      return rows.map((x): Interval => ({ from: Date.parse(x.s), to: Date.parse(x.e), segments: x.n, rows: Number(x.r), size: Number(x.b), loaded: x.a, deep: x.d }));
    },
    refetchInterval: 30_000,
  });
}

type Measure = "rows" | "size" | "segments";

/** A bar of the picture: what begins in one part of the time. */
export interface Bar extends Interval {
  n: number;
}

/** Puts intervals into at most so many bars of equal width over the time that they cover. */
export function barsOf(intervals: Interval[], most: number): { from: number; to: number; bars: Bar[] } {
  // A segment for all of time would leave nothing to see of the others.
  const usual = intervals.filter((i) => i.to - i.from < 100 * 366 * 86_400_000);
  const list = usual.length > 0 ? usual : intervals;
  if (list.length === 0) return { from: 0, to: 0, bars: [] };
  const from = Math.min(...list.map((i) => i.from));
  const to = Math.max(...list.map((i) => i.to));
  const least = Math.min(...list.map((i) => i.to - i.from));
  const bars = Math.max(1, Math.min(most, Math.round((to - from) / Math.max(1, least))));
  const width = (to - from) / bars;
  const out: Bar[] = [];
  for (let n = 0; n < bars; n++) out.push({ n, from: from + n * width, to: from + (n + 1) * width, segments: 0, rows: 0, size: 0, loaded: 0, deep: 0 });
  for (const i of list) {
    const bar = out[Math.min(bars - 1, Math.floor((i.from - from) / width))]!;
    bar.segments += i.segments;
    bar.rows += i.rows;
    bar.size += i.size;
    bar.loaded += i.loaded;
    bar.deep += i.deep;
  }
  return { from, to, bars: out };
}

export function Picture({ dataSource, chosen, choose }: { dataSource?: string; chosen?: [number, number]; choose?: (from: number, to: number) => void }) {
  const { zone } = useSettings();
  const [measure, setMeasure] = useState<Measure>("rows");
  const intervals = useIntervals(dataSource);
  const { from, to, bars } = useMemo(() => barsOf(intervals.data ?? [], 160), [intervals.data]);
  if (intervals.error) return <Failure error={intervals.error} retry={() => void intervals.refetch()} />;
  if (!intervals.data) return <div className="picture"><Skeleton lines={4} /></div>;
  if (bars.length === 0) return null;
  const top = Math.max(1, ...bars.map((b) => b[measure]));
  const text = (b: Bar) =>
    `${instant(new Date(b.from).toISOString(), zone)} to ${instant(new Date(b.to).toISOString(), zone)}: ${count(b.rows)} rows, ${bytes(b.size)}, ${counted(b.segments, "segment")}` +
    (b.loaded + b.deep < b.segments ? `, ${count(b.segments - b.loaded - b.deep)} not loaded` : b.deep > 0 ? `, ${count(b.deep)} in deep storage only` : "");
  const gap = Math.min(0.16, bars.length / 250);
  const missing = bars.reduce((n, b) => n + b.segments - b.loaded - b.deep, 0);
  const all = bars.reduce((n, b) => n + b.segments, 0);
  const high = { rows: count(top), size: bytes(top), segments: count(top) }[measure];
  return (
    <section className="picture" aria-label="Segments over time">
      <div className="row">
        <h2 className="grow">Segments over time</h2>
        <Choice label="What is shown" options={[["rows", "Rows"], ["size", "Size"], ["segments", "Segments"]]} value={measure} choose={setMeasure} />
      </div>
      <svg
        viewBox={`0 0 ${bars.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${counted(all, "segment")}, ${missing === 0 ? "all loaded" : `${count(missing)} not loaded`}; at most ${high} ${measure === "size" ? "" : measure} at a time`}
      >
        {bars.map((b) => {
          if (b.segments === 0) return null;
          const height = Math.max(2, (b[measure] / top) * 100);
          const kind = b.loaded + b.deep < b.segments ? "bad" : b.deep > 0 ? "deep" : "";
          return <rect key={b.n} className={`bar ${kind}`} x={b.n + gap / 2} width={1 - gap} y={100 - height} height={height} />;
        })}
        {bars.map((b) => (
          <rect
            key={b.n}
            className="hit"
            data-chosen={chosen && chosen[0] === b.from ? "true" : undefined}
            x={b.n}
            width={1}
            y={0}
            height={100}
            onClick={() => b.segments > 0 && choose?.(b.from, b.to)}
            style={choose && b.segments > 0 ? { cursor: "pointer" } : undefined}
          >
            <title>{text(b)}</title>
          </rect>
        ))}
      </svg>
      <div className="axis">
        <span>{instant(new Date(from).toISOString(), zone)}</span>
        <span>at most {high}{measure === "size" ? "" : ` ${measure}`}</span>
        <span>{instant(new Date(to).toISOString(), zone)}</span>
      </div>
      <div className="legend">
        <span><i style={{ background: "var(--accent)" }} />loaded</span>
        {bars.some((b) => b.deep > 0) && <span><i style={{ background: "var(--text-2)" }} />in deep storage only, as the rules require</span>}
        {missing > 0 && <span><i style={{ background: "var(--warn)" }} />{count(missing)} not loaded</span>}
        {intervals.data.length >= mostIntervals && <span>The newest {count(mostIntervals)} intervals are shown.</span>}
        {choose && <span>Click a bar to see its segments.</span>}
      </div>
    </section>
  );
}
