// One task: why it waits, its stages while it runs, its log as it grows, its report, and what it was
// asked to do.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { ApiError, call, send } from "../api/client";
import { bytes, count, duration, instant } from "../api/format";
import { useSettings } from "../settings";
import { Heads } from "../ui/heads";
import { Trail } from "../ui/trail";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { change, part } from "./change";
import { Diff, JSONText, shown } from "./editor";
import { Dialog, Facts, Tabs } from "./parts";
import { placeOf, usePlace } from "./place";
import { stagesOf, type Report } from "./report";
import { Why } from "./why";

interface Status {
  status: {
    id: string;
    groupId: string;
    type: string;
    createdTime: string;
    queueInsertionTime: string;
    statusCode: string;
    runnerStatusCode: string;
    duration: number;
    location: { host: string | null; port: number; tlsPort: number } | null;
    dataSource: string;
    errorMsg: string | null;
  };
}

type Payload = Record<string, unknown> & { type?: string; sqlQuery?: string; sqlQueryContext?: Record<string, unknown> };

const taskPath = (id: string, rest = "") => `/service/indexer/v1/task/${part(id)}${rest}`;

export const kinds: Record<string, "good" | "warn" | "bad"> = { SUCCESS: "good", FAILED: "bad", WAITING: "warn", PENDING: "warn" };

export function Task({ id }: { id: string }) {
  const [params, go] = usePlace();
  const cache = useQueryClient();
  const [again, setAgain] = useState(false);
  const status = useQuery({
    queryKey: ["task", id, "status"],
    queryFn: async ({ signal }) => (await call<Status>("GET", taskPath(id, "/status"), undefined, signal)).status,
    refetchInterval: (q) => (q.state.data && q.state.data.statusCode !== "RUNNING" ? false : 1_000),
  });
  const payload = useQuery({
    queryKey: ["task", id, "payload"],
    queryFn: async ({ signal }) => (await call<{ payload: Payload }>("GET", taskPath(id), undefined, signal)).payload,
    staleTime: Infinity,
  });
  const cancel = useMutation({
    mutationFn: () => change("POST", taskPath(id, "/shutdown")),
    onSettled: () => cache.invalidateQueries({ queryKey: ["task", id] }),
  });
  const s = status.data;
  const state = s ? (s.statusCode === "RUNNING" ? s.runnerStatusCode : s.statusCode) : "";
  const runs = s?.statusCode === "RUNNING";
  return (
    <div className="view">
      <header>
        <Trail to="/tasks" list="Tasks">
          <span className="mono">{id}</span>
        </Trail>
        {s && <Tag kind={kinds[state]}>{state}</Tag>}
        <span className="grow" />
        {payload.data && canRunAgain(payload.data) && <button onClick={() => setAgain(true)}>Run again…</button>}
        {runs && (
          <button className="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </button>
        )}
      </header>
      {(status.error ?? cancel.error) && <Failure error={(status.error ?? cancel.error)!} retry={() => void status.refetch()} />}
      {s?.errorMsg && (
        <div className="error" role="alert">
          {s.errorMsg}
        </div>
      )}
      <Tabs
        label={`Parts of task ${id}`}
        at={params.get("tab")}
        choose={(tab) => go({ id, tab })}
        tabs={[
          { id: "overview", name: "Overview", content: () => (s ? <Overview s={s} state={state} runs={!!runs} payload={payload.data} /> : <Skeleton lines={8} />) },
          { id: "log", name: "Log", content: () => <Log id={id} runs={runs !== false} /> },
          { id: "report", name: "Report", content: () => <ReportText id={id} runs={!!runs} /> },
          { id: "payload", name: "Payload", content: () => (payload.error ? <Failure error={payload.error} /> : payload.data ? <JSONText label="Payload" text={shown(payload.data)} /> : <Skeleton lines={8} />) },
        ]}
      />
      {again && payload.data && <Again payload={payload.data} close={() => setAgain(false)} />}
    </div>
  );
}

async function reportOf(id: string, signal: AbortSignal): Promise<Report | null> {
  try {
    return await call<Report>("GET", taskPath(id, "/reports"), undefined, signal);
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return null;
    throw e;
  }
}

function useReport(id: string, runs: boolean) {
  return useQuery({ queryKey: ["task", id, "report", runs], queryFn: ({ signal }) => reportOf(id, signal), refetchInterval: runs ? 1_000 : false });
}

function Overview({ s, state, runs, payload }: { s: Status["status"]; state: string; runs: boolean; payload?: Payload }) {
  const { zone } = useSettings();
  const report = useReport(s.id, runs);
  const [, tick] = useState(0);
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, [runs]);
  const place = s.location?.host ? `${s.location.host}:${s.location.tlsPort > 0 ? s.location.tlsPort : s.location.port}` : "none yet";
  return (
    <>
      <section className="card">
        <Facts
          list={[
            ["State", <Tag key="s" kind={kinds[state]}>{state}</Tag>],
            ["Type", s.type],
            ["Datasource", s.dataSource ? <Link key="d" href={placeOf("/datasources", { name: s.dataSource })}>{s.dataSource}</Link> : "none"],
            ["Submitted", instant(s.createdTime, zone)],
            [runs ? "For" : "Took", runs ? duration(Math.max(0, Date.now() - Date.parse(s.createdTime))) : duration(Math.max(0, s.duration))],
            ["Worker", place],
            ["Group", s.groupId === s.id ? "its own" : s.groupId],
          ]}
        />
      </section>
      {typeof payload?.sqlQuery === "string" && (
        <section className="card">
          <h2>Statement</h2>
          <pre>{payload.sqlQuery}</pre>
        </section>
      )}
      {report.data && <Stages report={report.data} />}
      <Why of="task" id={s.id} />
    </>
  );
}

function Stages({ report }: { report: Report }) {
  const stages = stagesOf(report);
  const status = report.multiStageQuery?.payload?.status;
  if (stages.length === 0) return null;
  const load = status?.segmentLoadStatus;
  return (
    <section className="card stacked" aria-label="Stages">
      <h2>Stages</h2>
      {load?.totalSegments !== undefined && load.totalSegments > 0 && (
        <p className="muted">
          {load.pendingSegments ? `${count(load.pendingSegments)} of ${count(load.totalSegments)} new segments are not loaded yet` : `All ${count(load.totalSegments)} new segments are loaded`}
        </p>
      )}
      <div className="scroll" tabIndex={0} role="region" aria-label="Stages and counters">
        <table className="list">
          <thead>
            <tr>
              <Heads names={["Stage", "Reads", "State"]} />
              <Heads names={["Workers", "Rows in", "Read", "Rows out", "Written", "CPU time", "Took"]} num />
            </tr>
          </thead>
          <tbody>
            {stages.map((s) => (
              <tr key={s.number}>
                <td>
                  {s.number} {s.processor}
                </td>
                <td>{s.reads}</td>
                <td>
                  <Tag kind={s.phase === "FINISHED" ? "good" : s.phase === "FAILED" ? "bad" : undefined}>{s.phase}</Tag>
                  {s.done !== undefined && (
                    <div
                      className={s.phase === "FINISHED" ? "stage-bar done" : "stage-bar"}
                      role="progressbar"
                      aria-label={`Stage ${s.number}`}
                      aria-valuenow={Math.round(s.done * 100)}
                      aria-valuemin={0}
                      aria-valuemax={100}
                    >
                      <span style={{ width: `${Math.min(100, s.done * 100)}%` }} />
                    </div>
                  )}
                </td>
                <td className="num">{count(s.workers)}</td>
                <td className="num">{count(s.rowsIn)}</td>
                <td className="num">{bytes(s.bytesIn)}</td>
                <td className="num">{count(s.rowsOut)}</td>
                <td className="num">{bytes(s.bytesOut)}</td>
                <td className="num">{duration(s.cpuMillis)}</td>
                <td className="num">{s.duration === undefined ? "" : duration(s.duration)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const mostLog = 2 << 20;

/** Follows the log: what is new is asked for by its place in the file. */
function Log({ id, runs }: { id: string; runs: boolean }) {
  const [text, setText] = useState("");
  const [loaded, setLoaded] = useState(false);
  const [error, setError] = useState<Error>();
  const [follow, setFollow] = useState(true);
  const [turn, setTurn] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    let at = 0;
    setText("");
    setError(undefined);
    const look = async () => {
      for (;;) {
        const answer = await send("GET", taskPath(id, `/log?offset=${at}`), undefined, stop.signal);
        const more = await answer.arrayBuffer();
        at += more.byteLength;
        const piece = new TextDecoder().decode(more);
        if (piece !== "") setText((old) => (old + piece).slice(-mostLog));
        setLoaded(true);
        if (!runs) return;
        await new Promise((r) => setTimeout(r, 1_000));
        if (stop.signal.aborted) return;
      }
    };
    look().catch((e: unknown) => {
      if (stop.signal.aborted) return;
      if (e instanceof ApiError && e.status === 404) setLoaded(true);
      else setError(e as Error);
    });
    return () => stop.abort();
  }, [id, runs, turn]);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follow]);
  return (
    <>
      <div className="row">
        <label>
          <input type="checkbox" checked={follow} onChange={(e) => setFollow(e.target.checked)} /> Follow the end
        </label>
        <span className="muted">{runs ? "New lines appear as they are written." : "The task has expired."}</span>
        <span className="grow" />
        <a className="button" href={taskPath(id, "/log")} download={`${id}.log`}>
          Save
        </a>
      </div>
      {error && <Failure error={error} retry={() => setTurn(turn + 1)} />}
      {!loaded && !error && <Skeleton lines={8} />}
      {loaded && (
        <div className="scroll log" ref={box} tabIndex={0} role="log" aria-label="Log" onWheel={(e) => e.deltaY < 0 && setFollow(false)}>
          <pre>{text || "No log yet."}</pre>
        </div>
      )}
    </>
  );
}

function ReportText({ id, runs }: { id: string; runs: boolean }) {
  const report = useReport(id, runs);
  if (report.error) return <Failure error={report.error} retry={() => void report.refetch()} />;
  if (report.data === undefined) return <Skeleton lines={8} />;
  if (report.data === null) return <div className="empty">No report yet.</div>;
  return <JSONText label="Report" text={shown(report.data)} />;
}

/** Tasks of supervisors, and those that other tasks made, are not submitted by people. */
function canRunAgain(payload: Payload): boolean {
  if (typeof payload.sqlQuery === "string") return true;
  return !!payload.type && ["index_parallel", "index", "kill", "compact", "import", "archive", "restore", "move"].includes(payload.type);
}

/** Members of a payload that the server gives itself. */
const given = new Set(["id", "groupId", "resource"]);
const givenContext = new Set(["queryId", "sqlQueryId", "sqlInsertSegmentGranularity", "sqlReplaceTimeChunks", "hengeIngestFiles", "__user"]);

function without(of: Record<string, unknown> | undefined, names: Set<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of ?? {}).filter(([k]) => !names.has(k)));
}

function Again({ payload, close }: { payload: Payload; close: () => void }) {
  const sql = typeof payload.sqlQuery === "string";
  const first = sql ? { query: payload.sqlQuery, context: without(payload.sqlQueryContext, givenContext) } : without(payload, given);
  const [made, setMade] = useState<string>();
  return (
    <Dialog title="Run again" close={close}>
      {made ? (
        <p className="note good" role="status">
          Task <Link href={placeOf("/tasks", { id: made })} onClick={close}>{made}</Link> runs.
        </p>
      ) : (
        <AgainForm
          first={first}
          run={async (spec) => {
            if (sql) setMade((await change<{ taskId: string }>("POST", "/service/v2/sql/task", spec)).taskId);
            else setMade((await change<{ task: string }>("POST", "/service/indexer/v1/task", spec)).task);
          }}
        />
      )}
    </Dialog>
  );
}

function AgainForm({ first, run }: { first: Record<string, unknown>; run: (spec: string) => Promise<void> }) {
  const before = shown(first);
  const [text, setText] = useState(before);
  const start = useMutation({ mutationFn: () => run(text) });
  let wrong = "";
  try {
    JSON.parse(text);
  } catch (e) {
    wrong = (e as Error).message;
  }
  return (
    <div className="stacked">
      <p className="muted">This submits a new task with the same specification. You can change it first.</p>
      <JSONText label="Specification" text={text} change={setText} />
      {text !== before && !wrong && <Diff label="Difference" before={before} after={text} />}
      {wrong && <p className="bad">Not valid JSON: {wrong}</p>}
      {start.error && <Failure error={start.error} />}
      <div>
        <button className="primary" disabled={!!wrong || start.isPending} onClick={() => start.mutate()}>
          Run
        </button>
      </div>
    </div>
  );
}

