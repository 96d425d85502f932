// The last step of a load: the statement or specification, and what becomes of it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { ApiError, call } from "../api/client";
import { bytes, count, duration } from "../api/format";
import { ident, select } from "../api/sql";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { taskReport, taskState, type Report } from "./ask";
import { contextOf, sqlOf, supervisorOf, taskOf, type Plan } from "./plan";

const JsonEditor = lazy(() => import("../ui/json"));

/** What was begun: a task, or a supervisor. */
export interface Begun {
  id: string;
  datasource: string;
  stream: boolean;
  at: number;
}

type Form = "SQL" | "JSON";

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

export function Submit({ plan: p, done }: { plan: Plan; done: (b: Begun) => void }) {
  const stream = !!p.source.stream;
  const [form, setForm] = useState<Form>(stream ? "JSON" : "SQL");
  const [edited, setEdited] = useState<Partial<Record<Form, string>>>({});
  const made = form === "SQL" ? sqlOf(p) : pretty(stream ? supervisorOf(p) : taskOf(p));
  const text = edited[form] ?? made;
  const submit = useMutation({ mutationFn: () => send(text, form, p), onSuccess: done });
  return (
    <section className="card stack">
      <div className="row">
        <h2 className="grow" style={{ margin: 0 }}>{stream ? "Specification of the supervisor" : form === "SQL" ? "Statement" : "Specification of the task"}</h2>
        {edited[form] !== undefined && edited[form] !== made && <button onClick={() => setEdited({ ...edited, [form]: undefined })}>Undo my changes</button>}
        {!stream && (
          <>
            {(["SQL", "JSON"] as const).map((f) => (
              <button key={f} aria-pressed={f === form} onClick={() => setForm(f)}>
                {f}
              </button>
            ))}
          </>
        )}
      </div>
      {form === "SQL" ? (
        <textarea
          aria-label="Statement" className="mono" spellCheck={false} rows={Math.min(24, text.split("\n").length + 1)} style={{ width: "100%", resize: "vertical" }} value={text}
          onChange={(e) => setEdited({ ...edited, SQL: e.target.value })}
        />
      ) : (
        <Suspense fallback={<Skeleton lines={8} />}>
          <JsonEditor label="Specification" value={text} change={(t) => setEdited((e) => ({ ...e, JSON: t === made ? undefined : t }))} height={320} />
        </Suspense>
      )}
      {submit.error && <Failure error={submit.error} />}
      <div className="row">
        <span className="muted">{stream ? "The supervisor reads the stream from its beginning, and goes on." : "All rows appear at once, or none."}</span>
        <span className="grow" />
        <button className="primary" disabled={submit.isPending || p.datasource === ""} onClick={() => submit.mutate()}>
          {stream ? "Start the supervisor" : "Load"}
        </button>
      </div>
    </section>
  );
}

async function send(text: string, form: Form, p: Plan): Promise<Begun> {
  const begun = { datasource: p.datasource, stream: !!p.source.stream, at: Date.now() };
  if (form === "SQL") {
    const { taskId } = await call<{ taskId: string }>("POST", "/service/v2/sql/task", { query: text, context: contextOf(p) });
    return { ...begun, id: taskId, datasource: /\bINTO\s+"((?:[^"]|"")+)"/i.exec(text)?.[1]?.replaceAll('""', '"') ?? p.datasource };
  }
  let spec: { spec?: { dataSchema?: { dataSource?: string } } };
  try {
    spec = JSON.parse(text) as typeof spec;
  } catch (e) {
    throw new Error(`The specification is no JSON: ${(e as Error).message}`);
  }
  const datasource = spec.spec?.dataSchema?.dataSource ?? p.datasource;
  if (p.source.stream) return { ...begun, datasource, id: (await call<{ id: string }>("POST", "/service/indexer/v1/supervisor", spec)).id };
  return { ...begun, datasource, id: (await call<{ task: string }>("POST", "/service/indexer/v1/task", spec)).task };
}

export function Progress({ begun, back, again }: { begun: Begun; back: () => void; again: () => void }) {
  return begun.stream ? <Following begun={begun} again={again} /> : <Running begun={begun} back={back} again={again} />;
}

const look = (b: Begun) => `/explore?datasource=${encodeURIComponent(b.datasource)}`;
const rowsOf = (b: Begun) => `/query?sql=${encodeURIComponent(`SELECT * FROM ${ident(b.datasource)} LIMIT 100`)}`;

/** Asks for a count; a datasource that nobody knows yet has no rows. */
async function rowsIn(datasource: string, signal: AbortSignal): Promise<number> {
  try {
    return Number((await select<{ n: number }>(`SELECT COUNT(*) AS n FROM ${ident(datasource)}`, signal))[0]?.n ?? 0);
  } catch (e) {
    if (e instanceof ApiError && e.status === 400) return 0;
    throw e;
  }
}

function Running({ begun: b, back, again }: { begun: Begun; back: () => void; again: () => void }) {
  const status = useQuery({
    queryKey: ["load", "task", b.id], queryFn: ({ signal }) => taskState(b.id, signal),
    refetchInterval: (q) => (q.state.data && q.state.data.code !== "RUNNING" ? false : 500),
  });
  const ended = status.data && status.data.code !== "RUNNING";
  const report = useQuery({
    queryKey: ["load", "report", b.id, ended], queryFn: async ({ signal }) => (await taskReport(b.id, signal)) ?? null,
    refetchInterval: (q) => (ended && q.state.data ? false : 500),
  });
  const succeeded = status.data?.code === "SUCCESS";
  const rows = useQuery({ queryKey: ["load", "rows", b.id], enabled: succeeded, queryFn: ({ signal }) => rowsIn(b.datasource, signal) });
  const stop = useMutation({ mutationFn: () => call("POST", `/service/indexer/v1/task/${encodeURIComponent(b.id)}/shutdown`) });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [ended]);
  const task = <Link href={`/tasks?task=${encodeURIComponent(b.id)}`}>{b.id}</Link>;
  return (
    <>
      <section className="card">
        <h2 ref={heading} tabIndex={-1}>
          {succeeded ? (
            <>
              <span className="good">{rows.data === undefined ? "Loaded" : `${count(rows.data)} rows`}</span> {rows.data === undefined ? "into" : "are in"} {b.datasource}
            </>
          ) : ended ? (
            <span className="bad">Nothing was loaded</span>
          ) : (
            <span role="status">{status.data?.waits ? "Waiting for a slot or a lock" : "Loading"}</span>
          )}
        </h2>
        <p className="muted">
          Task {task}
          {ended && status.data!.ms > 0 && `, ${duration(status.data!.ms)}`}
        </p>
        {succeeded && (
          <div className="row">
            <Link href={look(b)}>Look at a chart</Link>
            <Link href={rowsOf(b)}>Look at the rows</Link>
            <span className="grow" />
            <button onClick={again}>Load more</button>
          </div>
        )}
        {!ended && (
          <div className="row">
            <span className="grow" />
            <button disabled={stop.isPending} onClick={() => stop.mutate()}>
              Stop
            </button>
          </div>
        )}
      </section>
      {status.error && <Failure error={status.error} retry={() => void status.refetch()} />}
      {stop.error && <Failure error={stop.error} />}
      {ended && !succeeded && (
        <>
          <Failure error={new Error(report.data?.problem ?? status.data!.error)} />
          <p className="muted">{remedyOf(report.data?.problem ?? status.data!.error)}</p>
          <div className="row">
            <button className="primary" onClick={back}>
              Back to the settings
            </button>
          </div>
        </>
      )}
      {(report.data?.warnings ?? []).map((w) => (
        <p key={w} className="warn">
          {w}
        </p>
      ))}
      {report.data && <Stages report={report.data} />}
    </>
  );
}

/** What helps against a failure that is often met. */
export function remedyOf(message: string): string {
  if (/parse|can't be read|unparseable/i.test(message)) return "Check the format and the types, or set the context parameter maxParseExceptions to leave such records out.";
  if (/NULL timestamp|no time|__time/i.test(message)) return "Some rows have no time: choose how it is written, or keep only rows in which it is not null.";
  if (/Upload \[/.test(message)) return "The server has the file no longer. Choose it again.";
  if (/outside the directories/.test(message)) return "The setting service.ingestion.local.allowedPaths says what the server may read. Upload the file instead.";
  if (/does not exist on the server/.test(message)) return "The path is one of the server's machine. A file of this machine can be uploaded.";
  if (/granularity|too many.*(chunk|bucket|partition)/i.test(message)) return "Choose longer chunks of time for the segments.";
  return "The settings are kept: change them and load again.";
}

function Stages({ report }: { report: Report }) {
  if (report.stages.length === 0) {
    return report.processed === undefined ? null : (
      <p>
        {count(report.processed)} rows were read{report.unparseable ? `, ${count(report.unparseable)} records were not` : ""}.
      </p>
    );
  }
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Stages">
      <table className="list">
        <thead>
          <tr>
            {["Stage", "Does", "State", "Rows read", "Bytes read", "Rows written", "Time"].map((t, i) => (
              <th key={t} className={i > 2 ? "num" : undefined}>
                <span>{t}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {report.stages.map((s) => (
            <tr key={s.number}>
              <td>{s.number}</td>
              <td>{words[s.name] ?? s.name}</td>
              <td>
                <Tag kind={s.phase === "FINISHED" || s.phase === "RESULTS_READY" || s.phase === "RESULTS_COMPLETE" ? "good" : s.phase === "FAILED" ? "bad" : undefined}>{s.phase.toLowerCase().replaceAll("_", " ")}</Tag>
              </td>
              <td className="num">{count(s.rows)}</td>
              <td className="num">{s.bytes > 0 ? bytes(s.bytes) : ""}</td>
              <td className="num">{count(s.out)}</td>
              <td className="num">{s.ms > 0 ? duration(s.ms) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const words: Record<string, string> = {
  scan: "reads and sorts", groupByPreShuffle: "reads and rolls up", groupByPostShuffle: "rolls up", segmentGenerator: "writes segments", offset: "orders", limit: "limits", results: "collects",
};

interface SupervisorStatus {
  payload?: { state?: string; detailedState?: string; recentErrors?: { errorMessage?: string }[]; aggregateLag?: number };
}

function Following({ begun: b, again }: { begun: Begun; again: () => void }) {
  const status = useQuery({
    queryKey: ["load", "supervisor", b.id], refetchInterval: 1000,
    queryFn: ({ signal }) => call<SupervisorStatus>("GET", `/service/indexer/v1/supervisor/${encodeURIComponent(b.id)}/status`, undefined, signal),
  });
  const rows = useQuery({ queryKey: ["load", "live", b.id], refetchInterval: 1000, queryFn: ({ signal }) => rowsIn(b.datasource, signal) });
  const p = status.data?.payload;
  const problem = p?.recentErrors?.at(-1)?.errorMessage;
  return (
    <>
      <section className="card">
        <h2>
          <span className={rows.data ? "good" : undefined}>{count(rows.data ?? 0)} rows</span> of the stream are in {b.datasource}
        </h2>
        <p>
          Supervisor <Link href="/supervisors">{b.id}</Link>{" "}
          <Tag kind={p?.state === "RUNNING" ? "good" : p?.state?.startsWith("UNHEALTHY") ? "bad" : undefined}>{(p?.detailedState ?? p?.state ?? "starting").toLowerCase().replaceAll("_", " ")}</Tag>
          {p?.aggregateLag !== undefined && <span className="muted"> {count(p.aggregateLag)} records behind</span>}
        </p>
        <div className="row">
          {!!rows.data && <Link href={look(b)}>Look at a chart</Link>}
          {!!rows.data && <Link href={rowsOf(b)}>Look at the rows</Link>}
          <span className="grow" />
          <button onClick={again}>Load more</button>
        </div>
      </section>
      {status.error && <Failure error={status.error} retry={() => void status.refetch()} />}
      {problem && <Failure error={new Error(problem)} />}
    </>
  );
}
