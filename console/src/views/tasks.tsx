// Tasks: what runs, waits and has expired, one by one or in groups.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { call } from "../api/client";
import { count, duration, instant } from "../api/format";
import { literal, select } from "../api/sql";
import { placeOf, usePlace } from "../data/place";
import { useSettings } from "../settings";
import { Heads } from "../ui/heads";
import { List, type ListColumn } from "../ui/list";
import { Failure, Skeleton, Tag, View } from "../ui/parts";

const Task = lazy(async () => ({ default: (await import("../data/task")).Task }));

interface Row {
  task_id: string;
  type: string;
  datasource: string;
  created_time: string;
  state: string;
  duration: number;
  location: string | null;
  error_msg: string | null;
}

const from = `SELECT task_id, type, datasource, created_time, CASE WHEN status = 'RUNNING' THEN runner_status ELSE status END AS state,
 duration, location, error_msg FROM sys.tasks`;

const kinds: Record<string, "good" | "warn" | "bad"> = { SUCCESS: "good", FAILED: "bad", WAITING: "warn", PENDING: "warn" };
const groups = { state: "State", type: "Type", datasource: "Datasource" } as const;
type Group = keyof typeof groups;

export default function Tasks() {
  const [params] = usePlace();
  const id = params.get("id");
  if (id === null) return <All />;
  return (
    <Suspense fallback={<div className="view"><Skeleton lines={6} /></div>}>
      <Task key={id} id={id} />
    </Suspense>
  );
}

function All() {
  const { zone } = useSettings();
  const [params, go] = usePlace();
  const group = (Object.keys(groups) as Group[]).find((g) => g === params.get("group"));
  const chosen = Object.fromEntries((Object.keys(groups) as Group[]).map((g) => [g, params.get(g) ?? undefined]));
  const where = (Object.keys(groups) as Group[]).filter((g) => params.has(g)).map((g) => `${g} = ${literal(params.get(g)!)}`);
  const narrowed = where.length === 0 ? from : `SELECT * FROM (${from}) WHERE ${where.join(" AND ")}`;
  const cache = useQueryClient();
  const stop = useMutation({
    mutationFn: (id: string) => call("POST", `/service/indexer/v1/task/${encodeURIComponent(id)}/shutdown`),
    onSettled: () => cache.invalidateQueries({ queryKey: ["list", "Tasks"] }),
  });
  const columns: ListColumn<Row>[] = [
    { name: "created_time", title: "Created", fixed: true, cell: (t) => instant(t.created_time, zone) },
    { name: "type", title: "Type", fixed: true },
    { name: "datasource", title: "Datasource" },
    {
      name: "state",
      title: "State",
      cell: (t) => (
        <>
          <Tag kind={kinds[t.state]}>{t.state}</Tag> {t.error_msg && <span className="bad">{t.error_msg}</span>}
        </>
      ),
    },
    { name: "duration", title: "Took", numeric: true, cell: (t) => (t.duration > 0 ? duration(t.duration) : "") },
    {
      name: "task_id",
      title: "Id",
      cell: (t) => (
        <Link className="mono" href={placeOf("/tasks", { id: t.task_id })}>
          {t.task_id}
        </Link>
      ),
    },
    {
      name: "location",
      title: "Where",
      fixed: true,
      cell: (t) => (
        <>
          {t.location ?? ""}{" "}
          {["RUNNING", "WAITING", "PENDING"].includes(t.state) && (
            <button className="danger" disabled={stop.isPending} onClick={() => stop.mutate(t.task_id)}>
              Cancel
            </button>
          )}
        </>
      ),
    },
  ];
  return (
    <View
      title="Tasks"
      actions={
        <>
          {(Object.keys(groups) as Group[]).map(
            (g) =>
              chosen[g] !== undefined && (
                <button key={g} title="Show all" onClick={() => go({ ...chosen, group, [g]: undefined })}>
                  {groups[g]}: {chosen[g]} ×
                </button>
              ),
          )}
          <label>
            Group by{" "}
            <select value={group ?? ""} onChange={(e) => go({ ...chosen, group: e.target.value })}>
              <option value="">nothing</option>
              {(Object.keys(groups) as Group[]).map((g) => (
                <option key={g} value={g}>
                  {groups[g].toLowerCase()}
                </option>
              ))}
            </select>
          </label>
        </>
      }
    >
      {stop.error && <Failure error={stop.error} />}
      {group && <Groups group={group} from={narrowed} choose={(value) => go({ ...chosen, group, [group]: value })} />}
      <List<Row>
        key={where.join()}
        name="Tasks"
        from={narrowed}
        columns={columns}
        filter="task_id"
        filterLabel="Find by id"
        order={{ column: "created_time", down: true }}
        every={2_000}
        empty={where.length === 0 ? "No tasks yet." : "No tasks of this kind."}
      />
    </View>
  );
}

interface Grouped {
  g: string | null;
  n: number;
  runs: number;
  waits: number;
  failed: number;
  done: number;
  took: number | null;
  last_time: string;
}

function Groups({ group, from, choose }: { group: Group; from: string; choose: (value: string) => void }) {
  const { zone } = useSettings();
  const query = `SELECT "${group}" AS g, COUNT(*) AS n, SUM(CASE WHEN state = 'RUNNING' THEN 1 ELSE 0 END) AS runs,
 SUM(CASE WHEN state IN ('WAITING', 'PENDING') THEN 1 ELSE 0 END) AS waits, SUM(CASE WHEN state = 'FAILED' THEN 1 ELSE 0 END) AS failed,
 SUM(CASE WHEN state = 'SUCCESS' THEN 1 ELSE 0 END) AS done, MAX(duration) AS took, MAX(created_time) AS last_time
 FROM (${from}) GROUP BY 1 ORDER BY 2 DESC LIMIT 100`;
  const rows = useQuery({ queryKey: ["task groups", query], queryFn: ({ signal }) => select<Grouped>(query, signal), refetchInterval: 5_000 });
  if (rows.error) return <Failure error={rows.error} retry={() => void rows.refetch()} />;
  if (!rows.data) return <Skeleton lines={3} />;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Groups of tasks" style={{ flex: "none", maxHeight: "40vh" }}>
      <table className="list">
        <thead>
          <tr>
            <th>
              <span>{groups[group]}</span>
            </th>
            <Heads names={["Tasks", "Run", "Wait", "Failed", "Succeeded", "Longest"]} num />
            <th>
              <span>Newest</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.data.map((r) => (
            <tr key={String(r.g)}>
              <td>
                <button className="plain" onClick={() => choose(r.g ?? "")}>
                  {r.g ?? "none"}
                </button>
              </td>
              <td className="num">{count(r.n)}</td>
              <td className="num">{count(r.runs)}</td>
              <td className="num">{count(r.waits)}</td>
              <td className={r.failed > 0 ? "num bad" : "num"}>{count(r.failed)}</td>
              <td className="num">{count(r.done)}</td>
              <td className="num">{(r.took ?? 0) > 0 ? duration(r.took!) : ""}</td>
              <td className="fixed">{instant(r.last_time, zone)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
