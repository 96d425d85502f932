// Datasources: how much there is of each, and whether it is all loaded.
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { bytes, count, instant } from "../api/format";
import { placeOf, usePlace } from "../data/place";
import { useSettings } from "../settings";
import { List, type ListColumn } from "../ui/list";
import { Skeleton, Tag, View } from "../ui/parts";

const Datasource = lazy(async () => ({ default: (await import("../data/datasource")).Datasource }));

interface Datasource {
  datasource: string;
  segments: number;
  total_rows: number;
  bytes: number;
  first_time: string;
  last_time: string;
  available: number;
  row_bytes: number;
}

const from = `SELECT datasource, COUNT(*) AS segments, SUM(num_rows) AS total_rows, SUM("size") AS bytes,
 MIN("start") AS first_time, MAX("end") AS last_time,
 SUM(CASE WHEN is_available = 1 OR replication_factor = 0 THEN 1.0 ELSE 0.0 END) / COUNT(*) AS available,
 CASE WHEN SUM(num_rows) > 0 THEN SUM("size") * 1.0 / SUM(num_rows) END AS row_bytes
 FROM sys.segments WHERE is_active = 1 GROUP BY datasource`;

export default function Datasources() {
  const [params] = usePlace();
  const name = params.get("name");
  if (name === null) return <All />;
  return (
    <Suspense fallback={<div className="view"><Skeleton lines={6} /></div>}>
      <Datasource key={name} name={name} />
    </Suspense>
  );
}

function All() {
  const { zone } = useSettings();
  const columns: ListColumn<Datasource>[] = [
    {
      name: "datasource",
      title: "Name",
      cell: (d) => <Link href={placeOf("/datasources", { name: d.datasource })}>{d.datasource}</Link>,
    },
    {
      name: "available",
      title: "Available",
      numeric: true,
      cell: (d) => (d.available >= 1 ? <Tag kind="good">all</Tag> : <Tag kind="warn">{(Math.floor(d.available * 1000) / 10).toFixed(1)} %</Tag>),
    },
    { name: "total_rows", title: "Rows", numeric: true },
    { name: "segments", title: "Segments", numeric: true },
    { name: "bytes", title: "Size", numeric: true, cell: (d) => bytes(d.bytes) },
    { name: "row_bytes", title: "Bytes per row", numeric: true, cell: (d) => (d.row_bytes === null ? "" : count(Math.round(d.row_bytes))) },
    { name: "first_time", title: "From", fixed: true, cell: (d) => instant(d.first_time, zone) },
    { name: "last_time", title: "To", fixed: true, cell: (d) => instant(d.last_time, zone) },
  ];
  return (
    <View
      title="Datasources"
      actions={
        <Link className="button" href={placeOf("/datasources", { name: "_default" })}>
          Default rules
        </Link>
      }
    >
      <List<Datasource>
        name="Datasources"
        from={from}
        columns={columns}
        filter="datasource"
        filterLabel="Find by name"
        order={{ column: "datasource", down: false }}
        every={10_000}
        empty="No datasources yet."
      />
    </View>
  );
}
