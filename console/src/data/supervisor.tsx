// One supervisor: how it goes over the time, where it is in its stream, what it could not read, and
// what it is asked to do.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { call } from "../api/client";
import { bytes, count, duration, instant } from "../api/format";
import { ident, select } from "../api/sql";
import type { Schemas } from "../api/types";
import { useSettings } from "../settings";
import { Heads } from "../ui/heads";
import { Trail } from "../ui/trail";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { change } from "./change";
import { Changes, Editor, JSONText, shown } from "./editor";
import { Dialog, Facts, Tabs, Typed } from "./parts";
import { placeOf, usePlace } from "./place";
import { supervisorPathOf as supervisorPath } from "./paths";
import { Plot } from "./plot";
import { Reset } from "./reset";
import { averageOf, keepSample, rate, samplesOf, sum, totalsOf, type Sample, type Stats } from "./samples";
import { Tail } from "./tail";
import { Why } from "./why";

export interface Status {
  id: string;
  payload: {
    dataSource?: string;
    stream?: string;
    partitions?: number;
    replicas?: number;
    durationSeconds?: number;
    activeTasks?: TaskOf[];
    publishingTasks?: TaskOf[];
    minimumLag?: Record<string, number>;
    aggregateLag?: number;
    aggregateLagMillis?: number;
    offsetsLastUpdated?: string;
    suspended?: boolean;
    healthy?: boolean;
    state?: string;
    detailedState?: string;
    recentErrors?: { timestamp?: string; exceptionClass?: string; message?: string; streamException?: boolean }[];
  };
}

interface TaskOf {
  id: string;
  startTime: string | null;
  remainingSeconds: number | null;
  type: string;
}


export function Supervisor({ id }: { id: string }) {
  const [params, go] = usePlace();
  const cache = useQueryClient();
  const [ask, setAsk] = useState<"reset" | "terminate">();
  const spec = useQuery({
    queryKey: ["supervisor", id, "spec"],
    queryFn: ({ signal }) => call<Record<string, unknown>>("GET", supervisorPath(id), undefined, signal),
  });
  const status = useQuery({
    queryKey: ["supervisor", id, "status"],
    queryFn: ({ signal }) => call<Status>("GET", supervisorPath(id, "/status"), undefined, signal),
    refetchInterval: 2_000,
  });
  const again = () => {
    void cache.invalidateQueries({ queryKey: ["supervisor", id] });
    void cache.invalidateQueries({ queryKey: ["changes", `supervisor ${id}`] });
  };
  const act = useMutation({ mutationFn: (what: string) => change("POST", supervisorPath(id, what)), onSettled: again });
  const p = status.data?.payload;
  const dataSource = p?.dataSource ?? id;
  const suspended = spec.data?.suspended === true;
  return (
    <div className="view">
      <header>
        <Trail to="/supervisors" list="Supervisors">
          {id}
        </Trail>
        {p && <Tag kind={p.healthy === false ? "bad" : suspended ? undefined : "good"}>{p.detailedState ?? p.state ?? "?"}</Tag>}
        <span className="grow" />
        <Link className="button" href={`/query?sql=${encodeURIComponent(`SELECT * FROM ${ident(dataSource)} ORDER BY __time DESC LIMIT 100`)}`}>
          Query
        </Link>
        <button disabled={act.isPending || !spec.data} onClick={() => act.mutate(suspended ? "/resume" : "/suspend")}>
          {suspended ? "Resume" : "Suspend"}
        </button>
        <button onClick={() => setAsk("reset")}>Reset…</button>
        <button className="danger" onClick={() => setAsk("terminate")}>
          Terminate…
        </button>
      </header>
      {(act.error ?? status.error ?? spec.error) && <Failure error={(act.error ?? status.error ?? spec.error)!} retry={() => void status.refetch()} />}
      <Tabs
        label={`Parts of ${id}`}
        at={params.get("tab")}
        choose={(tab) => go({ id, tab })}
        tabs={[
          { id: "overview", name: "Overview", content: () => (status.data ? <Overview id={id} status={status.data} /> : <Skeleton lines={8} />) },
          { id: "offsets", name: "Offsets", content: () => <Offsets id={id} /> },
          { id: "errors", name: "Errors", content: () => <Errors id={id} status={status.data} /> },
          { id: "tail", name: "Live tail", content: () => <Tail dataSource={dataSource} /> },
          {
            id: "spec",
            name: "Specification",
            content: () =>
              spec.data ? (
                <Editor
                  name="specification"
                  value={spec.data}
                  save={(value, comment) => change("POST", "/service/indexer/v1/supervisor?skipRestartIfUnmodified=true", value, comment)}
                  saved={again}
                  effect={() => <p className="note">Running tasks publish their rows; new tasks continue with the new specification.</p>}
                />
              ) : (
                <Skeleton lines={10} />
              ),
          },
          {
            id: "history",
            name: "History",
            content: () => (
              <Changes
                name={`supervisor ${id}`}
                now={spec.data}
                load={async (signal) =>
                  (await call<Schemas["SupervisorVersion"][]>("GET", `${supervisorPath(id, "/history")}?count=50`, undefined, signal)).map((v) => ({ at: v.version ?? "", value: v.spec }))
                }
              />
            ),
          },
          { id: "status", name: "Status", content: () => <JSONText label="Status" text={status.data ? shown(status.data.payload) : ""} /> },
        ]}
      />
      {ask === "reset" && <Reset id={id} close={() => setAsk(undefined)} done={again} />}
      {ask === "terminate" && (
        <Dialog title={`Terminate ${id}`} close={() => setAsk(undefined)} width={620}>
          <p>The supervisor publishes the rows that its tasks have read and is removed. The datasource and the history stay, so that the supervisor can be created again.</p>
          <Typed
            word={id}
            action="Terminate"
            busy={act.isPending}
            run={() => act.mutate("/terminate", { onSuccess: () => (location.hash = "/supervisors") })}
          />
        </Dialog>
      )}
    </div>
  );
}

/** Takes a sample every two seconds while it is looked at. */
function useSamples(id: string, status: Status): { samples: Sample[]; stats: Stats | undefined; error: Error | null } {
  const [samples, setSamples] = useState(() => samplesOf(id));
  const stats = useQuery({
    queryKey: ["supervisor", id, "stats"],
    queryFn: ({ signal }) => call<Stats>("GET", supervisorPath(id, "/stats"), undefined, signal),
    refetchInterval: 2_000,
  });
  const dataSource = status.payload.dataSource;
  const newest = useQuery({
    queryKey: ["newest", dataSource],
    queryFn: async ({ signal }) => (await select<{ t: string | null }>(`SELECT MAX(__time) AS t FROM ${ident(dataSource!)}`, signal, { priority: -1 }))[0]?.t ?? null,
    enabled: !!dataSource,
    refetchInterval: 4_000,
    retry: false,
  });
  const at = stats.dataUpdatedAt;
  useEffect(() => {
    if (!stats.data || samplesOf(id).at(-1)?.at === at) return;
    const p = status.payload;
    setSamples(
      keepSample(id, {
        at,
        lag: p.aggregateLag ?? null,
        lagMillis: p.aggregateLagMillis ?? null,
        behind: newest.data ? Math.max(0, at - Date.parse(newest.data)) : null,
        tasks: totalsOf(stats.data),
      }),
    );
    // One sample for each answer of the counters.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [at, id]);
  return { samples, stats: stats.data, error: stats.error };
}

function Overview({ id, status }: { id: string; status: Status }) {
  const { zone, theme } = useSettings();
  const { samples, stats, error } = useSamples(id, status);
  const p = status.payload;
  const times = samples.map((s) => s.at / 1000);
  const rates = samples.map((s, i) => (i === 0 ? null : rate(samples[i - 1]!, s, "processed")));
  const last = samples.at(-1);
  const totals = sum(Object.values(last?.tasks ?? {}));
  const tasks = [...(p.activeTasks ?? []), ...(p.publishingTasks ?? [])];
  const plot = { times, zone, dark: theme };
  return (
    <>
      <section className="card">
        <Facts
          list={[
            ["Stream", p.stream ?? "none"],
            ["Datasource", p.dataSource ? <Link key="d" href={placeOf("/datasources", { name: p.dataSource })}>{p.dataSource}</Link> : "none"],
            ["Partitions", count(p.partitions ?? 0)],
            ["Tasks", `${count(p.activeTasks?.length ?? 0)} read, ${count(p.publishingTasks?.length ?? 0)} publish`],
            ["Lag", p.aggregateLag === undefined ? "not known" : `${count(p.aggregateLag)} records`],
            ["Rows of its tasks", `${count(totals.processed)}, ${bytes(totals.processedBytes)}`],
            ["Not read", `${count(totals.unparseable)} unreadable, ${count(totals.thrownAway)} thrown away`],
            ["Offsets asked for", p.offsetsLastUpdated ? instant(p.offsetsLastUpdated, zone) : "not yet"],
          ]}
        />
      </section>
      {error && <Failure error={error} />}
      {samples.length < 2 ? (
        <Skeleton lines={4} />
      ) : (
      <div className="plots">
        <section className="plot">
          <h2>
            Rate <span>{rates.at(-1) == null ? "" : `${count(Math.round(rates.at(-1)!))} rows/s`}</span>
          </h2>
          <Plot {...plot} label="Rows per second" series={[{ name: "rows/s", values: rates }]} format={(n) => count(n)} />
        </section>
        <section className="plot">
          <h2>
            Lag <span>{last?.lag == null ? "" : `${count(last.lag)} records`}</span>
          </h2>
          <Plot {...plot} label="Records not read yet" series={[{ name: "records", values: samples.map((s) => s.lag) }]} format={(n) => count(n)} />
        </section>
        <section className="plot">
          <h2>
            Age of the newest row <span>{last?.behind == null ? "" : duration(last.behind)}</span>
          </h2>
          <Plot {...plot} label="Age of the newest row" series={[{ name: "age", values: samples.map((s) => s.behind) }]} format={(n) => (n === 0 ? "0" : duration(n))} />
        </section>
      </div>
      )}
      {stats && (
        <section className="card" aria-label="Server averages">
          <h2>Server averages</h2>
          <div className="scroll" tabIndex={0} role="region" aria-label="Averages">
            <table className="list">
              <thead>
                <tr>
                  <th>
                    <span>Over the last</span>
                  </th>
                  <Heads names={["Rows/s", "Bytes/s", "With errors/s", "Unreadable/s", "Thrown away/s"]} num />
                </tr>
              </thead>
              <tbody>
                {["1m", "5m", "15m"].map((span) => {
                  const a = averageOf(stats, span);
                  return (
                    <tr key={span}>
                      <td>{span.replace("m", " min")}</td>
                      <td className="num">{count(Math.round(a.processed))}</td>
                      <td className="num">{bytes(a.processedBytes)}</td>
                      <td className="num">{a.processedWithError.toFixed(1)}</td>
                      <td className="num">{a.unparseable.toFixed(1)}</td>
                      <td className="num">{a.thrownAway.toFixed(1)}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        </section>
      )}
      {tasks.length > 0 && (
        <section className="card">
          <h2>Tasks</h2>
          {tasks.map((t) => (
            <p key={t.id} className="row">
              <Link className="mono" href={placeOf("/tasks", { id: t.id })}>
                {t.id}
              </Link>
              <Tag>{t.type === "ACTIVE" ? "reads" : "publishes"}</Tag>
              <span className="muted">{t.remainingSeconds === null ? "has not begun" : `for ${duration(t.remainingSeconds * 1000)} more`}</span>
            </p>
          ))}
        </section>
      )}
      <Why of="supervisor" id={id} />
    </>
  );
}

export function usePlaces(id: string) {
  return useQuery({
    queryKey: ["supervisor", id, "offsets"],
    queryFn: ({ signal }) => call<Places>("GET", supervisorPath(id, "/offsets"), undefined, signal),
    refetchInterval: 5_000,
    retry: false,
  });
}

type Position = string | number | bigint;
export type Places = Record<"earliestOffsets" | "latestOffsets" | "publishedOffsets" | "currentOffsets" | "resetOffsets", Record<string, Position>> &
  Record<"skippedByReset" | "readAgainByReset", Record<string, number>> & { stream: string; type: string };

export function positionText(p: Position | undefined): string {
  return p === undefined ? "" : typeof p === "string" ? (/^\d+$/.test(p) ? count(BigInt(p)) : p) : count(p);
}

function Offsets({ id }: { id: string }) {
  const places = usePlaces(id);
  if (places.error) return <Failure error={places.error} retry={() => void places.refetch()} />;
  if (!places.data) return <Skeleton lines={6} />;
  const d = places.data;
  const columns: [string, Record<string, Position>][] = [
    ["Earliest", d.earliestOffsets],
    ["Published", d.publishedOffsets],
    ["Read", d.currentOffsets],
    ["Latest", d.latestOffsets],
  ];
  return (
    <>
      <p className="muted">
        Of stream {d.stream}. Rows between "Published" and "Read" are in memory of tasks, and queries see them; "Earliest" and "Latest" are the ends of the stream now.
      </p>
      <div className="scroll" tabIndex={0} role="region" aria-label="Offsets">
        <table className="list">
          <thead>
            <tr>
              <th>
                <span>Partition</span>
              </th>
              <Heads names={columns.map(([h]) => h)} num />
              <th className="num">
                <span>Not read yet</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {Object.keys(d.latestOffsets).map((p) => (
              <tr key={p}>
                <td className="mono">{p}</td>
                {columns.map(([h, of]) => (
                  <td key={h} className="num">
                    {positionText(of[p])}
                  </td>
                ))}
                <td className="num">{between(d.currentOffsets[p] ?? d.publishedOffsets[p], d.latestOffsets[p])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function between(from: Position | undefined, to: Position | undefined): string {
  if (from === undefined || to === undefined || typeof from === "string" || typeof to === "string") return "";
  return count(BigInt(to) - BigInt(from));
}

interface ParseError {
  timeOfExceptionMillis: number;
  input: string;
  errorType: string;
  details: string[];
}

function Errors({ id, status }: { id: string; status?: Status }) {
  const { zone } = useSettings();
  const rows = useQuery({
    queryKey: ["supervisor", id, "parse errors"],
    queryFn: ({ signal }) => call<ParseError[]>("GET", supervisorPath(id, "/parseErrors"), undefined, signal),
    refetchInterval: 5_000,
  });
  const own = status?.payload.recentErrors ?? [];
  return (
    <>
      <section className="card">
        <h2>Rows that could not be parsed</h2>
        {rows.error && <Failure error={rows.error} retry={() => void rows.refetch()} />}
        {rows.isPending && <Skeleton lines={4} />}
        {rows.data?.length === 0 && <p className="muted">None recently. maxSavedParseExceptions in the tuningConfig sets how many are kept.</p>}
        {rows.data && rows.data.length > 0 && (
          <div className="scroll" tabIndex={0} role="region" aria-label="Rows that could not be parsed">
            <table className="list">
              <thead>
                <tr>
                  <Heads names={["When", "What", "Row", "Why"]} />
                </tr>
              </thead>
              <tbody>
                {rows.data.map((r, i) => (
                  <tr key={i}>
                    <td className="fixed">{instant(new Date(r.timeOfExceptionMillis).toISOString(), zone)}</td>
                    <td>
                      <Tag kind={r.errorType === "unparseable" ? "bad" : "warn"}>{r.errorType}</Tag>
                    </td>
                    <td className="mono">{r.input}</td>
                    <td>{r.details.join("; ")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      <section className="card">
        <h2>Errors of the supervisor</h2>
        {own.length === 0 && <p className="muted">None recently.</p>}
        {own.map((e, i) => (
          <p key={i}>
            <span className="muted">{instant(e.timestamp ?? "", zone)}</span> {e.streamException && <Tag kind="warn">stream</Tag>} {e.message ?? e.exceptionClass}
          </p>
        ))}
      </section>
    </>
  );
}
