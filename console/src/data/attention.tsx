// What needs attention, and how much goes on: lines of Home.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { call, send } from "../api/client";
import { ago, bytes, count, duration } from "../api/format";
import { cancel, literal, select } from "../api/sql";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { metricsOf, sumOf, type Metric } from "./metrics";
import { counted } from "./parts";
import { placeOf } from "./place";
import { supervisorPathOf } from "./paths";
import { kindOf, sameReasons, type Decision } from "./why";

const expiry = "service_tls_certificate_secondsLeft";
const wanted = new Set(["henge_queries_total", "service_ingest_events_processed_total", "henge_query_result_bytes_total", "process_resident_memory_bytes", expiry]);

/** Warned of so long before. */
const soonSeconds = 30 * 86_400;
const lagRecords = 10_000;
const lagMillis = 60_000;

/** What this process measures. Who may not see it has no rates. */
function useMetrics() {
  return useQuery({
    queryKey: ["home", "metrics"],
    queryFn: async ({ signal }) => metricsOf(await (await send("GET", "/metrics", undefined, signal)).text(), wanted),
    refetchInterval: 5_000,
    retry: false,
  });
}

interface Line {
  kind: "good" | "warn" | "bad" | undefined;
  word: string;
  text: ReactNode;
  key: string;
}

export default function Attention() {
  const metrics = useMetrics();
  const decisions = useQuery({
    queryKey: ["home", "decisions"],
    queryFn: async ({ signal }) => (await call<{ decisions: Decision[] }>("GET", "/service/coordinator/v1/why", undefined, signal)).decisions,
    refetchInterval: 5_000,
  });
  const failing = useQuery({
    queryKey: ["home", "failing"],
    queryFn: ({ signal }) => {
      const since = new Date(Date.now() - 86_400_000).toISOString();
      return select<{ type: string; datasource: string; n: number; last_time: string; id: string; message: string | null }>(
        `SELECT type, datasource, COUNT(*) AS n, MAX(created_time) AS last_time, LATEST_BY(task_id, TIME_PARSE(created_time), 1000) AS id,
 LATEST_BY(error_msg, TIME_PARSE(created_time), 1000) AS message
 FROM sys.tasks WHERE status = 'FAILED' AND created_time >= ${literal(since)} GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 20`,
        signal,
      );
    },
    refetchInterval: 10_000,
  });
  const lagging = useQuery({
    queryKey: ["home", "lagging"],
    queryFn: async ({ signal }) => {
      const list = await select<{ supervisor_id: string; detailed_state: string; healthy: number }>(
        "SELECT supervisor_id, detailed_state, healthy FROM sys.supervisors WHERE suspended = 0 AND type <> 'autocompact' ORDER BY 1 LIMIT 50",
        signal,
      );
      return Promise.all(
        list.map(async (s) => {
          const status = await call<{ payload?: { aggregateLag?: number; aggregateLagMillis?: number } }>("GET", supervisorPathOf(s.supervisor_id, "/status"), undefined, signal).catch(() => undefined);
          return { ...s, lag: status?.payload?.aggregateLag ?? 0, late: status?.payload?.aggregateLagMillis ?? 0 };
        }),
      );
    },
    refetchInterval: 10_000,
  });
  const lines: Line[] = [];
  for (const m of metrics.data ?? []) {
    if (m.name !== expiry || m.value > soonSeconds) continue;
    const of = m.labels.certificate ?? "certificate";
    lines.push({
      key: `certificate ${of}`,
      kind: m.value < 7 * 86_400 ? "bad" : "warn",
      word: m.value <= 0 ? "expired" : "expires",
      text: <>The certificate of {of} {m.value <= 0 ? "has expired" : <>expires in <b>{duration(m.value * 1000)}</b></>}.</>,
    });
  }
  for (const s of lagging.data ?? []) {
    if (s.healthy === 1 && s.lag < lagRecords && s.late < lagMillis) continue;
    const link = <Link href={placeOf("/supervisors", { id: s.supervisor_id })}>{s.supervisor_id}</Link>;
    lines.push(
      s.healthy === 1
        ? { key: `lag ${s.supervisor_id}`, kind: "warn", word: "lags", text: <>Supervisor {link} is <b>{count(s.lag)} records</b>{s.late > 0 && <> and {duration(s.late)}</>} behind its stream.</> }
        : { key: `lag ${s.supervisor_id}`, kind: "bad", word: "unhealthy", text: <>Supervisor {link} is in state {s.detailed_state}.</> },
    );
  }
  for (const f of failing.data ?? []) {
    lines.push({
      key: `failed ${f.type} ${f.datasource}`,
      kind: "bad",
      word: "failed",
      text: (
        <>
          <Link href={placeOf("/tasks", { state: "FAILED", type: f.type, datasource: f.datasource })}>
            {count(f.n)} {f.n === 1 ? "task" : "tasks"}
          </Link>{" "}
          of type {f.type} for {f.datasource || "no datasource"} in the last day, the newest{" "}
          <Link href={placeOf("/tasks", { id: f.id })}>{ago(f.last_time)}</Link>: {f.message}
        </>
      ),
    });
  }
  lines.push(...grouped(decisions.data ?? []));
  const ready = decisions.data && failing.data && lagging.data;
  return (
    <>
      <Rates metrics={metrics.data} at={metrics.dataUpdatedAt} />
      <section className="card" aria-label="Needs attention">
        <h2>Needs attention</h2>
        {[decisions, failing, lagging].map((q, i) => q.error && <Failure key={i} error={q.error} retry={() => void q.refetch()} />)}
        {decisions.isPending && <Skeleton lines={2} />}
        {ready && lines.length === 0 && <p className="good">Everything is as the rules require.</p>}
        {lines.slice(0, 30).map((l) => (
          <p key={l.key}>
            <Tag kind={l.kind}>{l.word}</Tag> {l.text}
          </p>
        ))}
        {lines.length > 30 && <p className="muted">and {count(lines.length - 30)} more</p>}
      </section>
      <RunningQueries />
    </>
  );
}

/** Decisions with the same reason are one line. */
function grouped(list: Decision[]): Line[] {
  return sameReasons(list.filter((d) => kindOf(d.outcome) !== "good")).map((of) => {
    const d = of[0]!;
    const place = {
      segment: placeOf("/segments", { datasource: d.dataSource, id: of.length === 1 ? d.id : undefined, of: of.length === 1 ? d.dataSource : undefined }),
      datasource: placeOf("/datasources", { name: d.id }),
      task: placeOf("/tasks", { id: d.id }),
      supervisor: placeOf("/supervisors", { id: d.id }),
    }[d.subject];
    const name = of.length === 1 ? `${d.subject} ${d.id}` : `${counted(of.length, d.subject)} of ${d.dataSource}`;
    return {
      key: [d.subject, d.dataSource, d.topic, d.outcome, d.reason].join(),
      kind: kindOf(d.outcome),
      word: d.outcome,
      text: (
        <>
          {place ? <Link href={place}>{name}</Link> : <b>{name}</b>}, {d.topic}: {d.reason}
        </>
      ),
    };
  });
}

/** How much goes on: from two looks at what the process counts. */
function Rates({ metrics, at }: { metrics: Metric[] | undefined; at: number }) {
  const [looks, setLooks] = useState<{ at: number; metrics: Metric[] }[]>([]);
  useEffect(() => {
    if (metrics) setLooks((old) => (old.at(-1)?.at === at ? old : [...old, { at, metrics }].slice(-2)));
  }, [metrics, at]);
  const [before, after] = looks;
  if (!metrics) return null;
  const rate = (name: string) => {
    if (!before || !after || after.at <= before.at) return undefined;
    return Math.max(0, sumOf(after.metrics, name) - sumOf(before.metrics, name)) / ((after.at - before.at) / 1000);
  };
  const shown = (n: number | undefined, unit: (n: number) => string) => (n === undefined ? "…" : unit(n));
  return (
    <section className="card row" aria-label="Rates">
      <h2 style={{ margin: 0 }}>Now</h2>
      <span>
        <b>{shown(rate("henge_queries_total"), (n) => n.toFixed(n < 10 ? 1 : 0))}</b> queries/s
      </span>
      <span>
        <b>{shown(rate("henge_query_result_bytes_total"), bytes)}</b>/s of results
      </span>
      <span>
        <b>{shown(rate("service_ingest_events_processed_total"), (n) => count(Math.round(n)))}</b> rows/s ingested
      </span>
      <span>
        <b>{bytes(sumOf(metrics, "process_resident_memory_bytes"))}</b> of memory
      </span>
      <span className="muted">of the process that serves this page</span>
    </section>
  );
}

interface Running {
  id: string;
  info: string;
  start_time: string;
  num_rows: number;
  memory: number;
  user: string | null;
}

function RunningQueries() {
  const running = useQuery({
    queryKey: ["home", "running"],
    queryFn: ({ signal }) =>
      select<Running>(
        "SELECT id, info, start_time, num_rows, memory, \"user\" FROM sys.queries WHERE state = 'RUNNING' AND info NOT LIKE '%sys.queries%' ORDER BY start_time LIMIT 50",
        signal,
      ),
    refetchInterval: 2_000,
  });
  return (
    <section className="card">
      <h2>Running queries</h2>
      {running.error && <Failure error={running.error} />}
      {running.data?.length === 0 && <p className="muted">None.</p>}
      {running.data?.map((q) => (
        <div key={q.id} className="row">
          <code className="grow">{statementOf(q.info)}</code>
          <span className="muted">
            {q.user ?? ""} {ago(q.start_time)}, {count(q.num_rows)} rows, {bytes(q.memory)}
          </span>
          <button className="danger" onClick={() => void cancel(q.id).then(() => running.refetch())}>
            Cancel
          </button>
        </div>
      ))}
    </section>
  );
}

/** The text of a statement in the information that sys.queries keeps of it. */
export function statementOf(info: string): string {
  try {
    const parsed = JSON.parse(info) as { sql?: string };
    return (parsed.sql ?? info).replace(/\s+/g, " ").slice(0, 300);
  } catch {
    return info.slice(0, 300);
  }
}
