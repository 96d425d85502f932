// Load queues, workers and the configuration of the cluster.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { call } from "../api/client";
import { ago, bytes, count, duration } from "../api/format";
import type { Schemas } from "../api/types";
import { Heads } from "../ui/heads";
import { Failure, Meter, Skeleton, Tag } from "../ui/parts";
import { change, part } from "./change";
import { Changes, changesOf, Editor } from "./editor";
import { Choice, Facts } from "./parts";
import { placeOf } from "./place";

interface Queue {
  segmentsToLoad: number;
  segmentsToDrop: number;
  segmentsToLoadSize: number;
  segmentsToDropSize: number;
  expectedLoadTimeMillis: number;
}

interface Holder {
  host: string;
  tier: string;
  type: string;
  priority: number;
  currSize: number;
  maxSize: number;
}

function Head({ names, numeric }: { names: string[]; numeric: string[] }) {
  return (
    <thead>
      <tr>
        <Heads names={names} />
        <Heads names={numeric} num />
      </tr>
    </thead>
  );
}

/** What servers were told to load and drop, and what is missing. */
export function Queues() {
  const queues = useQuery({
    queryKey: ["load queues"],
    queryFn: ({ signal }) => call<Record<string, Queue>>("GET", "/service/coordinator/v1/loadqueue?simple", undefined, signal),
    refetchInterval: 2_000,
  });
  const servers = useQuery({
    queryKey: ["holders"],
    queryFn: ({ signal }) => call<Holder[]>("GET", "/service/coordinator/v1/servers?simple", undefined, signal),
    refetchInterval: 5_000,
  });
  const missing = useQuery({
    queryKey: ["load status"],
    queryFn: ({ signal }) => call<Record<string, number>>("GET", "/service/coordinator/v1/loadstatus?simple", undefined, signal),
    refetchInterval: 5_000,
  });
  const lacks = Object.entries(missing.data ?? {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  const error = queues.error ?? servers.error;
  if (error) return <Failure error={error} retry={() => (void queues.refetch(), void servers.refetch())} />;
  if (!queues.data || !servers.data) return <Skeleton lines={5} />;
  return (
    <>
      <div className="scroll" tabIndex={0} role="region" aria-label="Load queues">
        <table className="list">
          <Head names={["Server", "Tier"]} numeric={["To load", "Bytes to load", "Estimated time", "To drop", "Held"]} />
          <tbody>
            {servers.data.map((s) => {
              const q = queues.data[s.host];
              return (
                <tr key={s.host}>
                  <td className="mono">{s.host}</td>
                  <td>{s.tier}</td>
                  <td className="num">{count(q?.segmentsToLoad ?? 0)}</td>
                  <td className="num">{bytes(q?.segmentsToLoadSize ?? 0)}</td>
                  <td className="num">{q?.expectedLoadTimeMillis ? duration(q.expectedLoadTimeMillis) : ""}</td>
                  <td className="num">{count(q?.segmentsToDrop ?? 0)}</td>
                  <td className="num">
                    {s.maxSize > 0 ? `${bytes(s.currSize)} of ${bytes(s.maxSize)}` : bytes(s.currSize)}
                    {s.maxSize > 0 && <Meter share={s.currSize / s.maxSize} label={`Disk usage of ${s.host}`} />}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <section className="card">
        <h2>Segments that no server has loaded yet</h2>
        {missing.error && <Failure error={missing.error} />}
        {missing.data && lacks.length === 0 && <p className="good">None. All segments that the rules require are loaded.</p>}
        {lacks.slice(0, 50).map(([name, n]) => (
          <p key={name}>
            <Link href={placeOf("/datasources", { name })}>{name}</Link>: {count(n)}
          </p>
        ))}
      </section>
    </>
  );
}

/** The workers: what they run, and whether they take tasks. */
export function Workers() {
  const cache = useQueryClient();
  const workers = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => call<Schemas["Worker"][]>("GET", "/service/indexer/v1/workers", undefined, signal),
    refetchInterval: 2_000,
  });
  const capacity = useQuery({
    queryKey: ["capacity"],
    queryFn: ({ signal }) =>
      call<{ currentClusterCapacity: number; usedClusterCapacity: number }>("GET", "/service/indexer/v1/totalWorkerCapacity", undefined, signal),
    refetchInterval: 5_000,
    retry: false,
  });
  const set = useMutation({
    mutationFn: ({ host, on }: { host: string; on: boolean }) => change("POST", `/service/indexer/v1/worker/${part(host)}/${on ? "enable" : "disable"}`),
    onSettled: () => cache.invalidateQueries({ queryKey: ["workers"] }),
  });
  if (workers.error) return <Failure error={workers.error} retry={() => void workers.refetch()} />;
  if (!workers.data) return <Skeleton lines={5} />;
  return (
    <>
      {capacity.data && (
        <section className="card">
          <Facts
            list={[
              ["Slots in use", `${count(capacity.data.usedClusterCapacity)} of ${count(capacity.data.currentClusterCapacity)}`],
              ["Workers", count(workers.data.length)],
              ["Take no tasks", count(workers.data.filter((w) => !takes(w)).length)],
            ]}
          />
        </section>
      )}
      {set.error && <Failure error={set.error} />}
      {workers.data.length === 0 && <div className="empty">There are no workers: tasks wait.</div>}
      {workers.data.length > 0 && (
        <div className="scroll" tabIndex={0} role="region" aria-label="Workers">
          <table className="list">
            <Head names={["Worker", "Category", "Takes tasks", "Runs"]} numeric={["Slots", "Last task ended"]} />
            <tbody>
              {workers.data.map((w) => {
                const host = w.worker?.host ?? "";
                const on = takes(w);
                return (
                  <tr key={host}>
                    <td className="mono">{host}</td>
                    <td>{w.worker?.category}</td>
                    <td>
                      <Tag kind={on ? "good" : "warn"}>{on ? "yes" : "no"}</Tag>{" "}
                      <button disabled={set.isPending} onClick={() => set.mutate({ host, on: !on })}>
                        {on ? "Disable" : "Enable"}
                      </button>
                    </td>
                    <td>
                      {(w.runningTasks ?? []).map((id) => (
                        <div key={id}>
                          <Link className="mono" href={placeOf("/tasks", { id })}>
                            {id}
                          </Link>
                        </div>
                      ))}
                    </td>
                    <td className="num">
                      {count(w.currCapacityUsed ?? 0)} of {count(w.worker?.capacity ?? 0)}
                      <Meter share={(w.currCapacityUsed ?? 0) / Math.max(1, w.worker?.capacity ?? 1)} label={`Slots of ${host} in use`} />
                    </td>
                    <td className="num">{Date.parse(w.lastCompletedTaskTime ?? "") > 0 ? ago(w.lastCompletedTaskTime!) : "never"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** A worker that is disabled announces no version. */
function takes(w: Schemas["Worker"]): boolean {
  return (w.worker?.version ?? "") !== "";
}

const configurations = {
  coordinator: { name: "Coordinator", path: "/service/coordinator/v1/config", history: "/service/coordinator/v1/config/history" },
  broker: { name: "Brokers", path: "/service/coordinator/v1/broker/config", history: "/service/coordinator/v1/broker/config/history" },
  workers: { name: "Choice of workers", path: "/service/indexer/v1/worker", history: "/service/indexer/v1/worker/history" },
  compaction: { name: "Compaction", path: "/service/indexer/v1/compaction/config/cluster", history: "" },
} as const;
type Which = keyof typeof configurations;

/** Settings that change while the cluster runs. */
export function Configuration() {
  const [which, setWhich] = useState<Which>("coordinator");
  return (
    <>
      <Choice
        label="Which configuration"
        options={(Object.keys(configurations) as Which[]).map((w) => [w, configurations[w].name])}
        value={which}
        choose={setWhich}
      />
      <OneConfiguration key={which} which={which} />
    </>
  );
}

type Members = Record<string, unknown>;

function OneConfiguration({ which }: { which: Which }) {
  const c = configurations[which];
  const cache = useQueryClient();
  const [history, setHistory] = useState(false);
  const config = useQuery({ queryKey: ["config", which], queryFn: ({ signal }) => call<Members | null>("GET", c.path, undefined, signal) });
  if (config.error) return <Failure error={config.error} retry={() => void config.refetch()} />;
  if (config.data === undefined) return <Skeleton lines={8} />;
  return (
    <>
      <Editor<Members>
        name={`configuration of ${c.name}`}
        value={config.data ?? {}}
        form={(value, edit) => <Fields value={value} change={edit} />}
        save={(value, comment) => change("POST", c.path, value, comment)}
        saved={() => {
          void cache.invalidateQueries({ queryKey: ["config", which] });
          void cache.invalidateQueries({ queryKey: ["changes", `configuration ${which}`] });
        }}
        actions={
          c.history && (
            <button aria-pressed={history} onClick={() => setHistory(!history)}>
              History
            </button>
          )
        }
      />
      {history && c.history && (
        <Changes
          name={`configuration ${which}`}
          now={config.data}
          load={async (signal) => changesOf(await call("GET", `${c.history}?count=50`, undefined, signal))}
        />
      )}
    </>
  );
}

/** Members that are numbers, texts or switches have fields; the others are edited as JSON. */
function Fields({ value, change }: { value: Members; change: (value: Members) => void }) {
  const simple = Object.entries(value).filter(([, v]) => ["number", "boolean", "string"].includes(typeof v));
  const rest = Object.keys(value).filter((k) => !simple.some(([name]) => name === k));
  return (
    <div className="stacked">
      <div className="fields">
        {simple.map(([name, v]) =>
          typeof v === "boolean" ? (
            <label key={name}>
              <input type="checkbox" checked={v} onChange={(e) => change({ ...value, [name]: e.target.checked })} /> {name}
            </label>
          ) : (
            <label className="field" key={name}>
              {name}
              <input
                type={typeof v === "number" ? "number" : "text"}
                step="any"
                value={String(v)}
                onChange={(e) => change({ ...value, [name]: typeof v === "number" ? Number(e.target.value) : e.target.value })}
              />
            </label>
          ),
        )}
      </div>
      {rest.length > 0 && <p className="muted">Edited as JSON: {rest.join(", ")}.</p>}
    </div>
  );
}
