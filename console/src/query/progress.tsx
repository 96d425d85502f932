// How far a query has come, asked for while it runs.
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { ask } from "../api/ask";
import { bytes, count, duration } from "../api/format";
import type { Schemas } from "../api/types";
import type { Result } from "./runner";

const every = 400;

/** Writes what is known: read rows of all, bytes, segments, the time that is left, memory. */
export function wordsOf(p: Schemas["QueryProgress"]): string[] {
  const words = [`${count(p.rowsRead)} of ${count(p.rows)} rows`, bytes(p.bytesRead)];
  if (p.segments > 0) words.push(`${count(p.segmentsRead)} of ${count(p.segments)} segments`);
  if (p.etaMs !== null && p.etaMs !== undefined && p.etaMs >= 1000) words.push(`about ${duration(p.etaMs)} left`);
  if (p.memoryBytes > 0) words.push(`${bytes(p.memoryBytes)} of memory`);
  return words;
}

export default function Progress({ result }: { result: Result }) {
  const most = useRef({ id: "", percent: 0 }); // what is to be read grows while a query runs: the bar does not go back
  const asked = useQuery({
    queryKey: ["progress", result.id],
    queryFn: ({ signal }) => ask("GET /service-ext/console/progress/{id}", { path: { id: result.id } }, signal).catch(() => null),
    refetchInterval: every,
    enabled: result.engine === "query",
    gcTime: 0,
  });
  const p = asked.data;
  if (most.current.id !== result.id) most.current = { id: result.id, percent: 0 };
  if (p?.percent !== null && p?.percent !== undefined) most.current.percent = Math.max(most.current.percent, p.percent);
  const known = p?.percent !== null && p?.percent !== undefined;
  const percent = most.current.percent;
  return (
    <>
      <div
        className="progress" role="progressbar" aria-label="The query is running"
        {...(known && { "aria-valuenow": Math.round(percent), "aria-valuemin": 0, "aria-valuemax": 100 })}
      >
        <span style={known ? { width: `${percent}%`, animation: "none" } : undefined} />
      </div>
      {p && p.rows > 0 && (
        <div className="row muted told">
          <b>{percent.toFixed(0)}%</b>
          {wordsOf(p).map((w) => <span key={w}>{w}</span>)}
        </div>
      )}
      {result.stage && <div className="row muted told">{result.stage}</div>}
    </>
  );
}
