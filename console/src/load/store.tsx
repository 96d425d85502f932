// The third step of a load: how the rows are kept.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { count } from "../api/format";
import { literal, select } from "../api/sql";
import type { Sample } from "./ask";
import { clusterAdvice, granularityAdvice, keptOf, type Plan } from "./plan";

const granularities = ["HOUR", "DAY", "WEEK", "MONTH", "YEAR", "ALL"];

/** Reports whether a datasource already exists. */
export function useTaken(name: string) {
  return useQuery({
    queryKey: ["load", "taken", name], enabled: name !== "",
    queryFn: async ({ signal }) => (await select(`SELECT 1 AS x FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'service' AND TABLE_NAME = ${literal(name)}`, signal)).length > 0,
  });
}

export function Store({ plan: p, change, preview }: { plan: Plan; change: (p: Partial<Plan>) => void; preview?: Sample }) {
  const taken = useTaken(p.datasource);
  const [column, setColumn] = useState("");
  const rows = (preview?.data ?? []).flatMap((d) => (d.parsed ? [d.parsed] : []));
  const times = rows.map((r) => Number(r.__time)).filter((t) => Number.isFinite(t));
  const chunk = times.length > 0 ? granularityAdvice(p, Math.min(...times), Math.max(...times)) : undefined;
  const dimensions = keptOf(p).filter((k) => k.role === "dimension" && !p.cluster.includes(k.name));
  const advice = clusterAdvice(p, rows).filter((a) => !p.cluster.includes(a.column));
  return (
    <section className="card stack">
      <h2>How the rows are kept</h2>
      <div className="row">
        <label>
          Datasource <input value={p.datasource} onChange={(e) => change({ datasource: e.target.value })} />
        </label>
        {!p.source.stream && (
          <select aria-label="What becomes of rows that are there" value={p.replace ? "replace" : "append"} onChange={(e) => change({ replace: e.target.value === "replace" })}>
            <option value="replace">replace all rows that are there</option>
            <option value="append">add to the rows that are there</option>
          </select>
        )}
      </div>
      {taken.data && (
        <p className={p.replace && !p.source.stream ? "bad" : "warn"}>
          The datasource already exists. {p.source.stream || !p.replace ? "The rows are added to it: what was loaded before is loaded twice." : "All its rows are replaced."}
        </p>
      )}
      <div className="row">
        <label>
          Segments by{" "}
          <select value={p.segmentGranularity} onChange={(e) => change({ segmentGranularity: e.target.value })}>
            {granularities.map((g) => (
              <option key={g} value={g}>
                {g.toLowerCase()}
              </option>
            ))}
          </select>
        </label>
        <label>
          of at most{" "}
          <select value={p.rowsPerSegment} onChange={(e) => change({ rowsPerSegment: Number(e.target.value) })}>
            {[500_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000].map((n) => (
              <option key={n} value={n}>
                {count(n)}
              </option>
            ))}
          </select>{" "}
          rows
        </label>
      </div>
      {chunk && (
        <p className="muted">
          {chunk.why} {chunk.granularity === p.segmentGranularity ? "This fits them." : (
            <>
              Chunks of one {chunk.granularity.toLowerCase()} fit them better.{" "}
              <button onClick={() => change({ segmentGranularity: chunk.granularity })}>Use {chunk.granularity.toLowerCase()}</button>
            </>
          )}
        </p>
      )}
      {!p.source.stream && (
        <div role="group" aria-label="Clustering">
          <div className="row">
            <span>Rows of a chunk are ordered by</span>
            {p.cluster.length === 0 && <span className="muted">nothing</span>}
            {p.cluster.map((c) => (
              <button key={c} aria-label={`Don't order by ${c}`} onClick={() => change({ cluster: p.cluster.filter((o) => o !== c) })}>
                {c} ×
              </button>
            ))}
            <select aria-label="Order also by" value={column} onChange={(e) => (e.target.value && change({ cluster: [...p.cluster, e.target.value] }), setColumn(""))}>
              <option value="">also by …</option>
              {dimensions.map((k) => (
                <option key={k.name}>{k.name}</option>
              ))}
            </select>
          </div>
          {advice.length > 0 && (
            <div className="row muted" style={{ marginTop: 4 }}>
              Queries for one value of these columns then read few segments:
              {advice.map((a) => (
                <button key={a.column} onClick={() => change({ cluster: [...p.cluster, a.column] })}>
                  {a.column} ({count(a.distinct)} values in {count(rows.length)} rows)
                </button>
              ))}
            </div>
          )}
        </div>
      )}
    </section>
  );
}
