// One datasource: what it has, and everything that decides what becomes of it.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { bytes, count, instant } from "../api/format";
import { ident, literal, select } from "../api/sql";
import { useSettings } from "../settings";
import { Trail } from "../ui/trail";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { Compaction } from "./compaction";
import { Lifecycle } from "./lifecycle";
import { Facts, Tabs } from "./parts";
import { Picture } from "./picture";
import { placeOf, usePlace } from "./place";
import { Retention } from "./retention";
import { Why } from "./why";

export function Datasource({ name }: { name: string }) {
  const [params, go] = usePlace();
  const choose = (tab: string) => go({ name, tab });
  const isDefault = name === "_default";
  return (
    <div className="view">
      <header>
        <Trail to="/datasources" list="Datasources">
          {isDefault ? "Default rules" : name}
        </Trail>
        <span className="grow" />
        {!isDefault && (
          <>
            <Link className="button" href={`/query?sql=${encodeURIComponent(`SELECT * FROM ${ident(name)} LIMIT 100`)}`}>
              Query
            </Link>
            <Link className="button" href={placeOf("/explore", { datasource: name })}>
              Explore
            </Link>
            <Link className="button" href={placeOf("/segments", { datasource: name })}>
              Segments
            </Link>
          </>
        )}
      </header>
      {isDefault ? (
        <Retention name="_default" />
      ) : (
        <Tabs
          label={`Parts of ${name}`}
          at={params.get("tab")}
          choose={choose}
          tabs={[
            { id: "overview", name: "Overview", content: () => <Overview name={name} /> },
            { id: "retention", name: "Retention", content: () => <Retention name={name} /> },
            { id: "compaction", name: "Compaction", content: () => <Compaction name={name} /> },
            { id: "lifecycle", name: "Used and unused", content: () => <Lifecycle name={name} /> },
          ]}
        />
      )}
    </div>
  );
}

interface Facts {
  segments: number;
  total_rows: number | null;
  bytes: number | null;
  available: number | null;
  deep: number | null;
  copies: number | null;
  first_time: string | null;
  last_time: string | null;
  versions: number;
}

function Overview({ name }: { name: string }) {
  const { zone } = useSettings();
  const [, go] = usePlace();
  const facts = useQuery({
    queryKey: ["datasource", name],
    queryFn: async ({ signal }) =>
      (
        await select<Facts>(
          `SELECT COUNT(*) AS segments, SUM(num_rows) AS total_rows, SUM("size") AS bytes, SUM(is_available) AS available,
 SUM(CASE WHEN is_available = 0 AND replication_factor = 0 THEN 1 ELSE 0 END) AS deep, SUM("size" * num_replicas) AS copies,
 MIN("start") AS first_time, MAX("end") AS last_time, COUNT(DISTINCT version) AS versions
 FROM sys.segments WHERE is_active = 1 AND datasource = ${literal(name)}`,
          signal,
        )
      )[0]!,
    refetchInterval: 10_000,
  });
  const f = facts.data;
  if (facts.error) return <Failure error={facts.error} retry={() => void facts.refetch()} />;
  if (!f) return <Skeleton lines={6} />;
  if (f.segments === 0) return <div className="empty">Datasource {name} has no used segments. Unused ones are under "Used and unused".</div>;
  const missing = f.segments - (f.available ?? 0) - (f.deep ?? 0);
  return (
    <>
      <section className="card">
        <Facts
          list={[
            ["Available", missing === 0 ? <Tag key="a" kind="good">all</Tag> : <Tag key="a" kind="warn">{count(missing)} not loaded</Tag>],
            ["Rows", count(f.total_rows ?? 0)],
            ["Segments", count(f.segments)],
            ["Size", bytes(Number(f.bytes ?? 0))],
            ["Bytes per row", f.total_rows ? count(Math.round(Number(f.bytes ?? 0) / Number(f.total_rows))) : "none"],
            ["Rows per segment", count(Math.round(Number(f.total_rows ?? 0) / f.segments))],
            ["On servers, all copies", bytes(Number(f.copies ?? 0))],
            ["In deep storage only", count(f.deep ?? 0)],
            ["From", instant(f.first_time ?? "", zone)],
            ["To", instant(f.last_time ?? "", zone)],
          ]}
        />
      </section>
      <Picture
        dataSource={name}
        choose={(from, to) =>
          void (location.hash = placeOf("/segments", { datasource: name, from: new Date(from).toISOString(), to: new Date(to).toISOString() }))
        }
      />
      <Why of="datasource" id={name} />
      <p className="row">
        <button onClick={() => go({ name, tab: "retention" })}>Retention rules</button>
        <button onClick={() => go({ name, tab: "compaction" })}>Compaction</button>
        <button onClick={() => go({ name, tab: "lifecycle" })}>Used and unused</button>
      </p>
    </>
  );
}
