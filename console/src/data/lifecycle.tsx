// Used, unused, gone: what would change is shown before it does.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { call } from "../api/client";
import { bytes, count, instant } from "../api/format";
import { literal, select } from "../api/sql";
import { useSettings } from "../settings";
import { Failure, Skeleton } from "../ui/parts";
import { change, part } from "./change";
import { Typed } from "./parts";
import { placeOf } from "./place";
import { ends } from "./rules";

interface Unused {
  dataSegment: { interval: string; size: number };
  numRows?: number | null;
}

interface Sum {
  segments: number;
  rows: number;
  size: number;
  from: string;
  to: string;
  /** There are more than were counted. */
  more?: boolean;
}

const mostUnused = 20_000;

async function unusedOf(name: string, interval: string, signal: AbortSignal): Promise<Sum> {
  const query = new URLSearchParams({ limit: String(mostUnused) });
  if (interval !== "") query.set("interval", interval.replace("/", "_"));
  const list = await call<Unused[]>("GET", `/service/coordinator/v1/metadata/datasources/${part(name)}/unusedSegments?${query.toString()}`, undefined, signal);
  const out: Sum = { segments: 0, rows: 0, size: 0, from: "", to: "", more: list.length >= mostUnused };
  for (const u of list) {
    const [from = "", to = ""] = u.dataSegment.interval.split("/");
    out.segments++;
    out.rows += u.numRows ?? 0;
    out.size += u.dataSegment.size;
    if (out.from === "" || from < out.from) out.from = from;
    if (to > out.to) out.to = to;
  }
  return out;
}

async function usedOf(name: string, interval: string, signal: AbortSignal): Promise<Sum> {
  const within = ends(interval);
  const where = within ? ` AND "start" >= ${literal(new Date(within[0]).toISOString())} AND "end" <= ${literal(new Date(within[1]).toISOString())}` : "";
  const [row] = await select<{ n: number; r: number | null; b: number | null; f: string | null; t: string | null }>(
    `SELECT COUNT(*) AS n, SUM(num_rows) AS r, SUM("size") AS b, MIN("start") AS f, MAX("end") AS t
 FROM sys.segments WHERE is_published = 1 AND datasource = ${literal(name)}${where}`,
    signal,
  );
  return { segments: row?.n ?? 0, rows: Number(row?.r ?? 0), size: Number(row?.b ?? 0), from: row?.f ?? "", to: row?.t ?? "" };
}

export function Lifecycle({ name }: { name: string }) {
  const cache = useQueryClient();
  const [interval, setInterval] = useState("");
  const wanted = useDeferredValue(interval.trim());
  const wrong = wanted !== "" && !ends(wanted);
  const used = useQuery({ queryKey: ["used", name, wanted], queryFn: ({ signal }) => usedOf(name, wanted, signal), enabled: !wrong });
  const unused = useQuery({ queryKey: ["unused", name, wanted], queryFn: ({ signal }) => unusedOf(name, wanted, signal), enabled: !wrong });
  const [ask, setAsk] = useState<"unuse" | "use" | "kill">();
  const done = () => {
    setAsk(undefined);
    for (const key of ["used", "unused", "intervals", "list"]) void cache.invalidateQueries({ queryKey: [key] });
  };
  const base = `/service/coordinator/v1/datasources/${part(name)}`;
  const act = useMutation({
    mutationFn: async (what: "unuse" | "use" | "kill"): Promise<string> => {
      if (what === "kill") {
        const from = unused.data?.from ?? "", to = unused.data?.to ?? "";
        const task = await change<{ task?: string } | undefined>("POST", "/service/indexer/v1/task", {
          type: "kill",
          dataSource: name,
          interval: wanted === "" ? `${from}/${to}` : wanted,
        });
        return task?.task ?? "";
      }
      if (wanted !== "") await change("POST", `${base}/${what === "use" ? "markUsed" : "markUnused"}`, { interval: wanted });
      else await change(what === "use" ? "POST" : "DELETE", base);
      return "";
    },
    onSuccess: done,
  });
  return (
    <div className="stacked">
      <label className="field" style={{ maxWidth: 520 }}>
        Only segments within an interval (empty: all segments)
        <input value={interval} placeholder="2026-01-01/2026-02-01" spellCheck={false} onChange={(e) => (setInterval(e.target.value), setAsk(undefined))} />
      </label>
      {wrong && <p className="bad">The interval must be START/END, such as 2026-01-01/2026-02-01.</p>}
      {act.error && <Failure error={act.error} />}
      {act.isSuccess && !ask && (
        <p className="note good" role="status">
          Done.{" "}
          {act.data && (
            <>
              Task <Link href={placeOf("/tasks", { id: act.data })}>{act.data}</Link> deletes the segments.
            </>
          )}
        </p>
      )}
      {!wrong && (
        <div className="cards">
          <Pile title="Used" hint="Queries see them." query={used}>
            <button disabled={!used.data?.segments} aria-expanded={ask === "unuse"} onClick={() => setAsk(ask === "unuse" ? undefined : "unuse")}>
              Mark unused…
            </button>
          </Pile>
          <Pile title="Unused" hint="They are still in deep storage and can be used again." query={unused}>
            <button disabled={!unused.data?.segments} aria-expanded={ask === "use"} onClick={() => setAsk(ask === "use" ? undefined : "use")}>
              Use again…
            </button>
            <button className="danger" disabled={!unused.data?.segments} aria-expanded={ask === "kill"} onClick={() => setAsk(ask === "kill" ? undefined : "kill")}>
              Delete for good…
            </button>
          </Pile>
        </div>
      )}
      {ask === "unuse" && used.data && (
        <section className="note warn stacked" aria-label="What becomes unused">
          <p>
            <Told sum={used.data} /> become unused: queries no longer see their rows. They can be used again until they are deleted.
          </p>
          <Typed word={name} action="Mark unused" busy={act.isPending} run={() => act.mutate("unuse")} />
        </section>
      )}
      {ask === "use" && unused.data && (
        <section className="note stacked" aria-label="What is used again">
          <p>
            Of <Told sum={unused.data} />, the segments that no newer segment hides are used again. Retention rules can drop them again.
          </p>
          <div>
            <button className="primary" disabled={act.isPending} onClick={() => act.mutate("use")}>
              Use again
            </button>
          </div>
        </section>
      )}
      {ask === "kill" && unused.data && (
        <section className="note warn stacked" aria-label="What is deleted">
          <p>
            <Told sum={unused.data} /> are deleted from deep storage and from the metastore by a task. <b>This cannot be undone.</b>
          </p>
          <Typed word={name} action="Delete for good" busy={act.isPending} run={() => act.mutate("kill")} />
        </section>
      )}
    </div>
  );
}

function Told({ sum }: { sum: Sum }) {
  const { zone } = useSettings();
  return (
    <>
      <b>
        {sum.more ? "more than " : ""}
        {count(sum.segments)} {sum.segments === 1 ? "segment" : "segments"}
      </b>{" "}
      ({bytes(sum.size)}, {count(sum.rows)} rows, from {instant(sum.from, zone)} to {instant(sum.to, zone)})
    </>
  );
}

function Pile({ title, hint, query, children }: { title: string; hint: string; query: { data?: Sum; error: Error | null; refetch: () => unknown }; children: React.ReactNode }) {
  const { zone } = useSettings();
  const s = query.data;
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      {query.error && <Failure error={query.error} retry={() => void query.refetch()} />}
      {!s && !query.error && <Skeleton lines={3} />}
      {s && (
        <>
          <div className="figure">
            {s.more ? "> " : ""}
            {count(s.segments)}
          </div>
          <p className="muted">
            {s.segments === 0 ? "None." : `${count(s.rows)} rows, ${bytes(s.size)}`}
            {s.from && (
              <>
                <br />
                {instant(s.from, zone)} to {instant(s.to, zone)}
              </>
            )}
          </p>
        </>
      )}
      <p className="muted">{hint}</p>
      <div className="row">{children}</div>
    </section>
  );
}
