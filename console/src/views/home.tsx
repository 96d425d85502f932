// Home: what is there, what runs, and what needs attention.
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, type ReactNode } from "react";
import { Link } from "wouter";
import { bytes, count } from "../api/format";
import { select } from "../api/sql";
import { Failure, Skeleton, Tag, View } from "../ui/parts";

const Attention = lazy(() => import("../data/attention"));

interface Totals {
  datasources: number;
  segments: number;
  rows: number;
  size: number;
  waiting: number;
}

interface TaskCount {
  status: string;
  n: number;
}

const totalsQuery = `SELECT COUNT(DISTINCT datasource) AS datasources, COUNT(*) AS segments, COALESCE(SUM(num_rows), 0) AS "rows",
 COALESCE(SUM("size"), 0) AS size, COUNT(*) FILTER (WHERE is_active = 1 AND is_available = 0 AND replication_factor <> 0) AS waiting
 FROM sys.segments WHERE is_active = 1`;

export function Home() {
  const totals = useQuery({
    queryKey: ["home", "totals"],
    queryFn: async ({ signal }) => (await select<Totals>(totalsQuery, signal))[0],
    refetchInterval: 5_000,
  });
  const tasks = useQuery({
    queryKey: ["home", "tasks"],
    queryFn: ({ signal }) => select<TaskCount>("SELECT status, COUNT(*) AS n FROM sys.tasks GROUP BY status", signal),
    refetchInterval: 5_000,
  });
  const taskCount = (status: string) => tasks.data?.find((t) => t.status === status)?.n ?? 0;
  const t = totals.data;
  return (
    <View title="Home">
      {totals.error && <Failure error={totals.error} retry={() => void totals.refetch()} />}
      {totals.isPending && <Skeleton lines={3} />}
      {t && (
        <div className="cards">
          <Figure name="Datasources" value={count(t.datasources)} more={<Link href="/datasources">All datasources</Link>} />
          <Figure name="Rows" value={count(t.rows)} more={`${bytes(t.size)} in ${count(t.segments)} segments`} />
          <Figure
            name="Segments not loaded"
            value={count(t.waiting)}
            more={t.waiting === 0 ? <Tag kind="good">all loaded</Tag> : <Link href="/segments">Which ones</Link>}
          />
          <Figure
            name="Tasks running"
            value={count(taskCount("RUNNING"))}
            more={taskCount("FAILED") > 0 ? <Link href="/tasks">{count(taskCount("FAILED"))} failed</Link> : "none failed"}
          />
        </div>
      )}
      <Suspense fallback={<Skeleton lines={3} />}>
        <Attention />
      </Suspense>
      {t?.datasources === 0 && (
        <section className="card">
          <h2>The first rows</h2>
          <p>
            No datasources yet. <Link href="/load">Load a file</Link> of this machine, or run <code>henge ingest FILE --into NAME</code>.
          </p>
        </section>
      )}
    </View>
  );
}

function Figure({ name, value, more }: { name: string; value: string; more: ReactNode }) {
  return (
    <section className="card">
      <h2>{name}</h2>
      <div className="figure">{value}</div>
      <div className="muted">{more}</div>
    </section>
  );
}
