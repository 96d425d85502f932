// Automatic compaction of a datasource: its settings, and what it does next and why not.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, call } from "../api/client";
import { bytes, count, instant } from "../api/format";
import type { Schemas } from "../api/types";
import { useSettings } from "../settings";
import { Heads } from "../ui/heads";
import { Failure, Meter, Skeleton, Tag } from "../ui/parts";
import { change, part } from "./change";
import { Changes, Editor } from "./editor";
import { counted, Facts } from "./parts";

type Config = Schemas["CompactionConfig"];
type Status = Schemas["CompactionStatus"];

const base = "/service/indexer/v1/compaction/config/datasources/";

async function configOf(name: string, signal: AbortSignal): Promise<Config | null> {
  try {
    return await call<Config>("GET", base + part(name), undefined, signal);
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return null;
    throw e;
  }
}

/** Leaves out members that are null: they say nothing. */
function said(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([, v]) => v !== null)) as Config;
}

export function Compaction({ name }: { name: string }) {
  const cache = useQueryClient();
  const [history, setHistory] = useState(false);
  const config = useQuery({ queryKey: ["compaction", name], queryFn: ({ signal }) => configOf(name, signal) });
  const again = () => {
    for (const key of ["compaction", "compaction next", "compaction status"]) void cache.invalidateQueries({ queryKey: [key, name] });
    void cache.invalidateQueries({ queryKey: ["changes", `compaction of ${name}`] });
  };
  const off = useMutation({ mutationFn: () => change("DELETE", base + part(name)), onSuccess: again });
  const on = useMutation({ mutationFn: () => change("POST", base + part(name), { dataSource: name, skipOffsetFromLatest: "P1D" }), onSuccess: again });
  if (config.error) return <Failure error={config.error} retry={() => void config.refetch()} />;
  if (config.data === undefined) return <Skeleton lines={6} />;
  return (
    <>
      {(off.error ?? on.error) && <Failure error={(off.error ?? on.error)!} />}
      {config.data === null ? (
        <div className="note">
          <p>Automatic compaction is off for this datasource.</p>
          <p className="row">
            <button className="primary" disabled={on.isPending} onClick={() => on.mutate()}>
              Compact it automatically
            </button>
            <button aria-pressed={history} onClick={() => setHistory(!history)}>
              History
            </button>
          </p>
        </div>
      ) : (
        <>
          <Next name={name} />
          <Editor<Config>
            name="compaction"
            value={said(config.data)}
            form={(value, edit) => <CompactionForm value={value} change={edit} />}
            save={(value, comment) => change("POST", base + part(name), { ...value, dataSource: name }, comment)}
            saved={again}
            actions={
              <>
                <button aria-pressed={history} onClick={() => setHistory(!history)}>
                  History
                </button>
                <button className="danger" disabled={off.isPending} onClick={() => off.mutate()}>
                  Switch off
                </button>
              </>
            }
          />
        </>
      )}
      {history && (
        <Changes
          name={`compaction of ${name}`}
          now={config.data === null ? null : said(config.data)}
          load={async (signal) => {
            const answer = await call<{ entries: Schemas["CompactionChange"][] }>("GET", `${base}${part(name)}/history?count=50`, undefined, signal);
            return answer.entries.map((e) => ({
              at: e.auditTime ?? "",
              who: e.auditInfo?.identity || e.auditInfo?.author,
              comment: e.auditInfo?.comment,
              value: e.compactionConfig ? said(e.compactionConfig as Config) : null,
            }));
          }}
        />
      )}
    </>
  );
}

interface Simulated {
  compactionStates: Record<string, { columnNames: string[]; rows: (string | number)[][] }>;
}

/** What the next round does, and what it leaves alone: the server simulates it. */
function Next({ name }: { name: string }) {
  const { zone } = useSettings();
  const status = useQuery({
    queryKey: ["compaction status", name],
    queryFn: ({ signal }) => call<Status>("GET", `/service/indexer/v1/compaction/status/datasources/${part(name)}`, undefined, signal),
    refetchInterval: 5_000,
  });
  const next = useQuery({
    queryKey: ["compaction next", name],
    queryFn: ({ signal }) => call<Simulated>("POST", "/service/coordinator/v1/compaction/simulate", {}, signal),
    refetchInterval: 15_000,
  });
  const rows = Object.entries(next.data?.compactionStates ?? {}).flatMap(([state, table]) => {
    const at = (column: string) => table.columnNames.indexOf(column);
    const why = at("reasonToCompact") >= 0 ? at("reasonToCompact") : at("reasonToSkip");
    return table.rows
      .filter((r) => r[at("dataSource")] === name)
      .map((r) => ({ state, interval: String(r[at("interval")]), segments: Number(r[at("numSegments")]), size: Number(r[at("bytes")]), why: why < 0 ? "" : String(r[why] ?? "") }));
  });
  const s = status.data;
  const total = (s?.bytesAwaitingCompaction ?? 0) + (s?.bytesCompacted ?? 0);
  return (
    <section className="card stacked" aria-label="What compaction does next">
      <h2>What it does next</h2>
      {s && (
        <Facts
          list={[
            ["State", <Tag key="s" kind={s.scheduleStatus === "RUNNING" ? "good" : undefined}>{s.scheduleStatus}</Tag>],
            ["Compacted", `${bytes(s.bytesCompacted ?? 0)} in ${counted(s.segmentCountCompacted ?? 0, "segment")}`],
            ["Waits", `${bytes(s.bytesAwaitingCompaction ?? 0)} in ${counted(s.intervalCountAwaitingCompaction ?? 0, "interval")}`],
            ["Skipped", `${bytes(s.bytesSkipped ?? 0)} in ${counted(s.intervalCountSkipped ?? 0, "interval")}`],
            ["Done", total === 0 ? "no round yet" : <Meter key="m" share={(s.bytesCompacted ?? 0) / total} label="Share of compacted bytes" />],
          ]}
        />
      )}
      {next.error && <Failure error={next.error} retry={() => void next.refetch()} />}
      {next.isPending && <Skeleton lines={3} />}
      {next.data &&
        (rows.length === 0 ? (
          <p className="muted">The next round has nothing to compact and skips nothing.</p>
        ) : (
          <div className="scroll" tabIndex={0} role="region" aria-label="Intervals of the next round">
            <table className="list">
              <thead>
                <tr>
                  <Heads names={["State", "From", "To"]} />
                  <th className="num">
                    <span>Segments</span>
                  </th>
                  <th className="num">
                    <span>Size</span>
                  </th>
                  <th>
                    <span>Why</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, 200).map((r, i) => (
                  <tr key={i}>
                    <td>
                      <Tag kind={r.state === "COMPLETE" ? "good" : r.state === "SKIPPED" ? "warn" : undefined}>{words[r.state] ?? r.state}</Tag>
                    </td>
                    <td className="fixed">{instant(r.interval.split("/")[0] ?? "", zone)}</td>
                    <td className="fixed">{instant(r.interval.split("/")[1] ?? "", zone)}</td>
                    <td className="num">{count(r.segments)}</td>
                    <td className="num">{bytes(r.size)}</td>
                    <td>{r.why}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ))}
      {rows.length > 200 && <p className="muted">and {count(rows.length - 200)} more intervals</p>}
    </section>
  );
}

const words: Record<string, string> = { COMPLETE: "compacted", PENDING: "next", RUNNING: "running", SKIPPED: "left out" };

const granularities = ["HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "ALL"];

interface Partitions {
  type: string;
  maxRowsPerSegment?: number | null;
  targetRowsPerSegment?: number | null;
  partitionDimensions?: string[] | null;
}

function CompactionForm({ value, change }: { value: Config; change: (value: Config) => void }) {
  const granularity = String(value.granularitySpec?.segmentGranularity ?? "");
  const partitions = value.tuningConfig?.partitionsSpec as Partitions | null | undefined;
  const set = (more: Partial<Config>) => change(said({ ...value, ...more }));
  const tune = (spec: Partitions | undefined) => {
    const { partitionsSpec: _, ...rest } = (value.tuningConfig ?? {}) as Record<string, unknown>;
    const tuning = spec ? { ...rest, partitionsSpec: spec } : rest;
    set({ tuningConfig: Object.keys(tuning).length === 0 ? null : tuning });
  };
  const number = (text: string) => (text === "" ? undefined : Math.max(1, Math.trunc(Number(text)) || 1));
  return (
    <div className="stacked">
      <div className="fields">
        <label className="field">
          Newest data to skip (period)
          <input value={value.skipOffsetFromLatest ?? "P1D"} spellCheck={false} onChange={(e) => set({ skipOffsetFromLatest: e.target.value })} />
        </label>
        <label className="field">
          Time of a segment
          <select
            value={granularity}
            onChange={(e) => set({ granularitySpec: e.target.value === "" ? null : { ...value.granularitySpec, segmentGranularity: e.target.value } })}
          >
            <option value="">as it is</option>
            {[...new Set([...granularities, ...(granularity ? [granularity] : [])])].map((g) => (
              <option key={g}>{g}</option>
            ))}
          </select>
        </label>
        <label className="field">
          Partitioned by
          <select
            value={partitions?.type ?? ""}
            onChange={(e) =>
              tune(
                e.target.value === "" ? undefined
                : e.target.value === "dynamic" ? { type: "dynamic", maxRowsPerSegment: 5_000_000 }
                : e.target.value === "range" ? { type: "range", targetRowsPerSegment: 5_000_000, partitionDimensions: partitions?.partitionDimensions ?? [] }
                : { type: "hashed", targetRowsPerSegment: 5_000_000, partitionDimensions: partitions?.partitionDimensions ?? [] },
              )
            }
          >
            <option value="">rows, 5,000,000 each</option>
            <option value="dynamic">rows</option>
            <option value="range">ranges of columns</option>
            <option value="hashed">hashes of columns</option>
          </select>
        </label>
        {partitions?.type === "dynamic" && (
          <label className="field">
            Rows per segment
            <input type="number" min={1} value={partitions.maxRowsPerSegment ?? ""} onChange={(e) => tune({ ...partitions, maxRowsPerSegment: number(e.target.value) })} />
          </label>
        )}
        {(partitions?.type === "range" || partitions?.type === "hashed") && (
          <>
            <label className="field">
              Rows per segment
              <input type="number" min={1} value={partitions.targetRowsPerSegment ?? ""} onChange={(e) => tune({ ...partitions, targetRowsPerSegment: number(e.target.value) })} />
            </label>
            <label className="field">
              Columns, separated by commas
              <input
                defaultValue={(partitions.partitionDimensions ?? []).join(", ")}
                onChange={(e) => tune({ ...partitions, partitionDimensions: e.target.value.split(",").map((s) => s.trim()).filter(Boolean) })}
              />
            </label>
          </>
        )}
        <label className="field">
          Task priority
          <input type="number" value={value.taskPriority ?? 25} onChange={(e) => set({ taskPriority: Math.trunc(Number(e.target.value)) })} />
        </label>
      </div>
      <p className="muted">Other settings, such as metrics, dimensions and transforms, can be edited as JSON. The form keeps them.</p>
    </div>
  );
}
