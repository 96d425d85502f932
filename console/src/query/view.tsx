// The query view: tabs, editor, progress and the result as grid, chart or plan.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { useSearch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { call } from "../api/client";
import { count, duration } from "../api/format";
import { useSettings } from "../settings";
import { Failure, Skeleton } from "../ui/parts";
import { where } from "./conditions";
import { readCatalog } from "./complete";
import { Editor, type EditorHandle } from "./editor";
import { linkOf, onlyReads, readLink } from "./link";
import { placeOf, rowLimit, useRunner, type Result } from "./runner";
import type { KeptView, SavedQuery } from "./saved";
import { useTabs, type Engine } from "./tabs";

const loadAnswer = () => import("./answer");
const Answer = lazy(loadAnswer);
const History = lazy(() => import("./history"));
const Saved = lazy(() => import("./saved"));
const Progress = lazy(() => import("./progress"));

const engines: Record<Engine, string> = { query: "Query", statement: "Statement", task: "Task" };

export default function QueryView() {
  const tabs = useTabs();
  const { result, start, stop } = useRunner();
  const { zone, setZone } = useSettings();
  const editor = useRef<EditorHandle>(null);
  const ran = useRef(0); // where the statement that ran begins
  const [split, setSplit] = useState(38);
  const [dialog, setDialog] = useState<"history" | "saved">();
  const [copied, setCopied] = useState(false);
  const [lost, setLost] = useState<Error>();
  const catalog = useQuery({ queryKey: ["catalog"], queryFn: ({ signal }) => readCatalog(signal), staleTime: 60_000 });
  useEffect(() => void loadAnswer(), []); // it is there with the first rows
  const engine = tabs.current.engine ?? "query";

  const open = useCallback(
    (text: string, view: KeptView & { name?: string; saved?: SavedQuery }) => {
      const { name, saved } = view;
      const kept = saved && { id: saved.id, version: saved.version, own: saved.own, shared: saved.shared };
      tabs.add(text, { engine: view.engine, shown: view.shown, chart: view.chart, ...(name && { name }), ...(kept && { saved: kept }) });
      if (view.zone) setZone(view.zone);
      if (onlyReads(text) && view.engine !== "task") void start(text, view.engine);
    },
    // Tabs are another object with each letter that is typed.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [start],
  );
  const take = useCallback((q: SavedQuery) => open(q.statement, { ...(q.view as KeptView), name: q.name, saved: q }), [open]);

  // A link brings a statement: /#/query?sql=..., whose question mark the views' links put in front, or
  // the short one of a saved query, /#/q/ID.
  const [path] = useHashLocation();
  const search = useSearch();
  useEffect(() => {
    const id = /^\/q\/([^?/]+)/.exec(path)?.[1];
    const link = id ? undefined : readLink(path.split("?")[1] ?? search);
    const opened = () => history.replaceState(null, "", `${location.pathname}#/query`); // a reload runs nothing
    if (link) {
      opened();
      open(link.sql, link);
    }
    if (!id) return;
    const abort = new AbortController();
    call<SavedQuery>("GET", `/service-ext/console/queries/${id}`, undefined, abort.signal).then(
      (q) => {
        opened();
        setLost(undefined);
        take(q);
      },
      (e: Error) => abort.signal.aborted || setLost(e),
    );
    return () => abort.abort();
  }, [path, search, open, take]);

  const run = useCallback(
    (as?: (statement: string) => string) => {
      const statement = editor.current?.statement();
      if (!statement) return;
      editor.current?.clear();
      ran.current = statement.from;
      setLost(undefined);
      const text = as ? as(statement.text) : statement.text;
      const plan = /^\s*EXPLAIN\s+ANALYZE\b/i.test(text);
      if (plan !== (tabs.current.shown === "plan")) tabs.change({ shown: plan ? "plan" : "table" });
      void start(text, as ? "query" : engine);
    },
    [start, engine, tabs],
  );

  useEffect(() => {
    if (result?.state === "failed" && result.error && !/^EXPLAIN ANALYZE /.test(result.statement)) {
      editor.current?.mark(ran.current, placeOf(result), result.error.message);
    }
  }, [result]);

  const narrow = useCallback(
    (condition: string) => {
      if (!result) return;
      const text = where(result.statement, condition);
      tabs.add(text, { shown: tabs.current.shown, chart: tabs.current.chart });
      void start(text);
    },
    [result, tabs, start],
  );

  const link = linkOf(tabs.current, zone);
  const running = result?.state === "running";
  return (
    <div className="query" style={{ ["--split" as string]: `${split}%` }}>
      <h1 className="sr">Query</h1>
      <div className="tabs" role="group" aria-label="Queries">
        {tabs.tabs.map((t) => (
          <div key={t.id} data-current={t.id === tabs.current.id}>
            <button
              aria-pressed={t.id === tabs.current.id} onClick={() => tabs.choose(t.id)}
              onDoubleClick={() => {
                const name = prompt("Name of the tab", t.name);
                if (name) tabs.rename(t.id, name);
              }}
            >
              {t.name}
            </button>
            <button className="plain" aria-label={`Close ${t.name}`} onClick={() => tabs.close(t.id)}>
              ×
            </button>
          </div>
        ))}
        <button aria-label="New query" onClick={() => tabs.add("")}>
          +
        </button>
      </div>
      <div className="editor">
        <Editor
          id={tabs.current.id} text={tabs.current.text} write={tabs.write} run={() => run()} stop={stop} catalog={catalog.data} handle={editor}
        />
        <div className="bar">
          {running ? (
            <button className="danger" onClick={stop}>
              Stop <kbd>Esc</kbd>
            </button>
          ) : (
            <button className="primary" onClick={() => run()}>
              Run <span className="wide">(Ctrl Enter)</span>
            </button>
          )}
          <button disabled={running} onClick={() => run((s) => `EXPLAIN ANALYZE ${s}`)}>
            Analyze
          </button>
          <label>
            <span className="sr">Run as</span>
            <select value={engine} onChange={(e) => tabs.change({ engine: e.target.value as Engine })}>
              {Object.entries(engines).map(([key, name]) => <option key={key} value={key}>{name}</option>)}
            </select>
          </label>
          <button onClick={() => setDialog("history")}>History</button>
          <button onClick={() => setDialog("saved")}>Saved</button>
          <button
            disabled={link === undefined} title={link === undefined ? "It is too long for a link: save it, which gives a short one." : "A link to this statement as it is shown"}
            onClick={() =>
              void navigator.clipboard.writeText(`${location.origin}${location.pathname}${link}`).then(() => {
                setCopied(true);
                setTimeout(() => setCopied(false), 1500);
              })
            }
          >
            {copied ? "Copied" : "Link"}
          </button>
          <span className="grow" />
          <State result={result} />
        </div>
      </div>
      <Splitter change={setSplit} />
      <div className="results">
        <Suspense fallback={<Skeleton lines={3} />}>
          {running && <Progress result={result} />}
          {lost && <Failure error={lost} />}
          {result?.state === "failed" && result.error && <Failure error={result.error} />}
          {result && result.columns.length > 0 && (
            <Answer
              result={result} zone={zone} narrow={narrow} shown={tabs.current.shown ?? "table"} setShown={(shown) => tabs.change({ shown })}
              chart={tabs.current.chart} setChart={(chart) => tabs.change({ chart })}
            />
          )}
        </Suspense>
        {!result && !lost && <div className="empty">Rows appear here as they arrive.</div>}
      </div>
      <Suspense>
        {dialog === "history" && (
          <History
            close={() => setDialog(undefined)}
            take={(text) => {
              tabs.add(text);
              setDialog(undefined);
            }}
          />
        )}
        {dialog === "saved" && (
          <Saved
            tab={tabs.current} zone={zone} close={() => setDialog(undefined)}
            saved={(q) => tabs.change({ name: q.name, saved: { id: q.id, version: q.version, own: q.own, shared: q.shared } })}
            take={(q) => {
              setDialog(undefined);
              take(q);
            }}
          />
        )}
      </Suspense>
    </div>
  );
}

/** What became of the query, in a line that is read out when it changes. */
function State({ result }: { result: Result | undefined }) {
  if (!result) return null;
  const rows = `${count(result.rows.length)} ${result.rows.length === 1 ? "row" : "rows"}`;
  const words: Record<Result["state"], string> = {
    running: `${rows} so far`,
    done: `${rows} in ${duration(result.ms)}`,
    cancelled: `cancelled after ${duration(result.ms)}: ${rows} received`,
    failed: `failed after ${duration(result.ms)}: ${rows} received`,
    cut: `the first ${count(rowLimit)} rows; there are more`,
  };
  return (
    <span className={result.state === "failed" ? "bad" : "muted"} role="status">
      {words[result.state]}
    </span>
  );
}

function Splitter({ change }: { change: (f: (percent: number) => number) => void }) {
  const limit = (p: number) => Math.max(12, Math.min(80, p));
  return (
    <button
      className="splitter" aria-label="Height of the editor" title="Drag, or use the arrow keys"
      onKeyDown={(e) => {
        if (e.key === "ArrowUp") change((p) => limit(p - 4));
        if (e.key === "ArrowDown") change((p) => limit(p + 4));
      }}
      onPointerDown={(e) => {
        const box = e.currentTarget.parentElement!.getBoundingClientRect();
        const move = (m: PointerEvent) => change(() => limit(((m.clientY - box.top) / box.height) * 100));
        const end = () => removeEventListener("pointermove", move);
        addEventListener("pointermove", move);
        addEventListener("pointerup", end, { once: true });
      }}
    />
  );
}
