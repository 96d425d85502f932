// Segments: a page at a time, since there may be hundreds of thousands, beside them their time.
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { bytes, instant } from "../api/format";
import { literal } from "../api/sql";
import { placeOf, usePlace } from "../data/place";
import { useSettings } from "../settings";
import { List, type ListColumn } from "../ui/list";
import { Skeleton, Tag, View } from "../ui/parts";

const Picture = lazy(async () => ({ default: (await import("../data/picture")).Picture }));
const Anatomy = lazy(async () => ({ default: (await import("../data/anatomy")).Anatomy }));

interface Segment {
  segment_id: string;
  datasource: string;
  start: string;
  end: string;
  partition_num: number;
  num_rows: number;
  size: number;
  num_replicas: number;
  state: string;
}

const from = `SELECT segment_id, datasource, "start", "end", partition_num, num_rows, "size", num_replicas,
 CASE WHEN is_realtime = 1 AND is_published = 0 THEN 'live' WHEN is_overshadowed = 1 THEN 'overshadowed'
 WHEN is_active = 1 AND is_available = 1 THEN 'available' WHEN is_active = 1 AND replication_factor = 0 THEN 'in deep storage'
 WHEN is_active = 1 THEN 'not loaded' ELSE 'unused' END AS state FROM sys.segments`;

export default function Segments() {
  const { zone } = useSettings();
  const [params, go] = usePlace();
  const at = {
    datasource: params.get("datasource") ?? undefined,
    from: params.get("from") ?? undefined,
    to: params.get("to") ?? undefined,
  };
  const open = params.get("id");
  const where = [
    at.datasource !== undefined && `datasource = ${literal(at.datasource)}`,
    at.from !== undefined && `"start" >= ${literal(at.from)}`,
    at.to !== undefined && `"start" < ${literal(at.to)}`,
  ].filter(Boolean);
  const columns: ListColumn<Segment>[] = [
    {
      name: "datasource",
      title: "Datasource",
      cell: (s) => (
        <button className="plain" title="Only these segments" onClick={() => go({ datasource: s.datasource })}>
          {s.datasource}
        </button>
      ),
    },
    { name: "start", title: "From", fixed: true, cell: (s) => instant(s.start, zone) },
    { name: "end", title: "To", fixed: true, cell: (s) => instant(s.end, zone) },
    { name: "partition_num", title: "Partition", numeric: true },
    {
      name: "state",
      title: "State",
      cell: (s) => <Tag kind={s.state === "not loaded" ? "warn" : s.state === "available" ? "good" : undefined}>{s.state}</Tag>,
    },
    { name: "num_rows", title: "Rows", numeric: true },
    { name: "size", title: "Size", numeric: true, cell: (s) => bytes(s.size) },
    { name: "num_replicas", title: "Copies", numeric: true },
    {
      name: "segment_id",
      title: "Id",
      cell: (s) => (
        <button className="plain mono clip" title={s.segment_id} onClick={() => go({ ...at, id: s.segment_id, of: s.datasource })}>
          {s.segment_id}
        </button>
      ),
    },
  ];
  return (
    <View
      title="Segments"
      actions={
        at.datasource !== undefined || at.from !== undefined ? (
          <>
            {at.datasource !== undefined && (
              <span>
                of <Link href={placeOf("/datasources", { name: at.datasource })}>{at.datasource}</Link>
              </span>
            )}
            {at.from !== undefined && (
              <span className="muted">
                from {instant(at.from, zone)} until {instant(at.to ?? "", zone)}
              </span>
            )}
            <button onClick={() => go({})}>All segments</button>
          </>
        ) : undefined
      }
    >
      <Suspense fallback={<Skeleton lines={4} />}>
        <Picture
          dataSource={at.datasource}
          chosen={at.from ? [Date.parse(at.from), Date.parse(at.to ?? at.from)] : undefined}
          choose={(f, t) => go({ datasource: at.datasource, from: new Date(f).toISOString(), to: new Date(t).toISOString() })}
        />
      </Suspense>
      <List<Segment>
        key={where.join()}
        name="Segments"
        from={where.length === 0 ? from : `${from} WHERE ${where.join(" AND ")}`}
        columns={columns}
        filter="segment_id"
        filterLabel="Find by id, datasource or day"
        order={{ column: "start", down: true }}
        every={30_000}
        empty="No segments yet."
      />
      {open && (
        <Suspense>
          <Anatomy dataSource={params.get("of") ?? ""} id={open} close={() => go(at)} />
        </Suspense>
      )}
    </View>
  );
}
