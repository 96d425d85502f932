// The life of one query: rows as they come, cancel, and what went wrong.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client";
import { cancel, newQueryId, run, type Column, type Row } from "../api/sql";
import { remember, type Engine } from "./tabs";

export interface Result {
  /** The id of the query on the server. */
  id: string;
  statement: string;
  engine: Engine;
  /** What a statement or task is at, as the server says. */
  stage?: string;
  columns: Column[];
  rows: Row[];
  /** Grows with each batch: rows is the same list, only longer. */
  version: number;
  started: number;
  ms: number;
  state: "running" | "done" | "cancelled" | "failed" | "cut";
  error?: Error;
}

/** Rows that are kept: beyond it the query is ended, and the result says so. */
export const rowLimit = 1_000_000;

const none: Result | undefined = undefined;

export function useRunner() {
  const [result, setResult] = useState<Result | undefined>(none);
  const running = useRef<{ id: string; engine: Engine; abort: AbortController } | undefined>(undefined);

  const stop = useCallback(() => {
    const r = running.current;
    if (!r) return;
    running.current = undefined;
    r.abort.abort();
    if (r.engine === "query") void cancel(r.id);
    setResult((now) => now && { ...now, state: "cancelled", ms: performance.now() - now.started });
  }, []);

  useEffect(() => stop, [stop]); // a view that is left runs nothing

  const start = useCallback(
    async (statement: string, engine: Engine = "query") => {
      stop();
      const mine = { id: newQueryId(), engine, abort: new AbortController() };
      running.current = mine;
      const now: Result = { id: mine.id, statement, engine, columns: [], rows: [], version: 0, started: performance.now(), ms: 0, state: "running" };
      setResult({ ...now });
      let frame = 0;
      // Batches may come faster than the screen is drawn: they are shown once a frame.
      const show = () => {
        frame = 0;
        if (running.current === mine) setResult({ ...now, ms: performance.now() - now.started });
      };
      try {
        // Statements and tasks are asked for again and again until they have ended.
        const ask = engine === "query" ? run : (await import("./far")).far[engine];
        await ask(
          statement,
          { sqlQueryId: mine.id },
          {
            stage: (stage) => {
              now.stage = stage;
              frame ||= requestAnimationFrame(show);
            },
            columns: (columns) => (now.columns = columns),
            rows: (rows) => {
              for (const r of rows) now.rows.push(r);
              now.version++;
              if (now.rows.length >= rowLimit) {
                now.rows.length = rowLimit;
                now.state = "cut";
                mine.abort.abort();
                void cancel(mine.id);
              }
              frame ||= requestAnimationFrame(show);
            },
          },
          mine.abort.signal,
        );
        now.state = "done";
      } catch (e) {
        if (running.current !== mine) return; // it was cancelled, which is shown already
        if (now.state !== "cut") {
          now.state = "failed";
          now.error = e instanceof Error ? e : new Error(String(e));
        }
      }
      if (running.current !== mine) return;
      running.current = undefined;
      cancelAnimationFrame(frame);
      now.ms = performance.now() - now.started;
      setResult({ ...now });
      remember({ text: statement, at: new Date().toISOString(), ms: Math.round(now.ms), rows: now.rows.length, error: now.error?.message });
    },
    [stop],
  );

  return { result, start, stop };
}

/** The place of a fault in the statement, if the server told one. */
export function placeOf(result: Result | undefined) {
  return result?.error instanceof ApiError ? result.error.place : undefined;
}
