// The newest rows of a datasource as they come.
import { useEffect, useRef, useState } from "react";
import { ApiError, parse, send } from "../api/client";
import { count, plain } from "../api/format";
import type { Row } from "../api/sql";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { part } from "./change";

interface Event {
  type: "columns" | "rows" | "alive" | "end";
  columns?: { name: string; type: string }[];
  rows?: Row[];
  truncated?: boolean;
  reason?: string;
}

const shownRows = 200;

export function Tail({ dataSource }: { dataSource: string }) {
  const [columns, setColumns] = useState<{ name: string; type: string }[]>();
  const [rows, setRows] = useState<Row[]>([]);
  const [came, setCame] = useState(0);
  const [paused, setPaused] = useState(false);
  const [ended, setEnded] = useState("");
  const [error, setError] = useState<Error>();
  const [turn, setTurn] = useState(0);
  const held = useRef(false);
  held.current = paused;
  useEffect(() => {
    const stop = new AbortController();
    setError(undefined);
    setEnded("");
    const take = (e: Event) => {
      if (e.type === "columns") setColumns(e.columns);
      if (e.type === "end") setEnded(e.reason ?? "The server ended the stream.");
      if (e.type !== "rows" || !e.rows) return;
      const fresh = e.rows;
      setCame((n) => n + fresh.length);
      if (!held.current) setRows((old) => [...fresh.slice().reverse(), ...old].slice(0, shownRows));
    };
    void (async () => {
      try {
        const answer = await send("GET", `/service-ext/console/datasources/${part(dataSource)}/tail?rows=100&every=1000`, undefined, stop.signal);
        const reader = answer.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
        let rest = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          const lines = (rest + value).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) if (line.trim() !== "") take(parse(line) as Event);
        }
        if (!stop.signal.aborted) setEnded((r) => r || "The connection ended.");
      } catch (e) {
        if (!stop.signal.aborted) setError(e instanceof ApiError ? e : new ApiError("The connection to the server was lost.", 0, ""));
      }
    })();
    return () => stop.abort();
  }, [dataSource, turn]);
  const again = () => (setRows([]), setTurn(turn + 1));
  return (
    <>
      <div className="row">
        <Tag kind={error || ended ? "warn" : paused ? undefined : "good"}>{error || ended ? "ended" : paused ? "paused" : "follows"}</Tag>
        <span className="muted" role="status">
          {count(came)} rows came
        </span>
        <span className="grow" />
        <button aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </button>
        <button onClick={() => setRows([])}>Clear</button>
      </div>
      {error && <Failure error={error} retry={again} />}
      {ended && (
        <p className="note">
          {ended} <button onClick={again}>Follow again</button>
        </p>
      )}
      {!columns && !error && <Skeleton lines={6} />}
      {columns && rows.length === 0 && <div className="empty">No rows yet.</div>}
      {columns && rows.length > 0 && (
        <div className="scroll" tabIndex={0} role="region" aria-label="The newest rows" style={{ maxHeight: "60vh" }}>
          <table className="list rows">
            <thead>
              <tr>
                {columns.map((c) => (
                  <th key={c.name}>
                    <span>{c.name}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((r, i) => (
                <tr key={came - i}>
                  {r.map((v, c) => (
                    <td key={c} title={v === null ? undefined : plain(v)}>
                      {v === null ? <span className="muted">NULL</span> : plain(v)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
