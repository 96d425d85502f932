// Services: the processes, their roles, memory and disk; load queues, workers and configuration.
import { lazy, Suspense } from "react";
import { ago, bytes, count } from "../api/format";
import { Tabs } from "../data/parts";
import { usePlace } from "../data/place";
import { List, type ListColumn } from "../ui/list";
import { Meter, Skeleton, Tag, View } from "../ui/parts";

const load = () => import("../data/operations");
const Queues = lazy(async () => ({ default: (await load()).Queues }));
const Workers = lazy(async () => ({ default: (await load()).Workers }));
const Configuration = lazy(async () => ({ default: (await load()).Configuration }));

interface Service {
  server: string;
  server_type: string;
  tier: string | null;
  is_leader: number | null;
  curr_size: number;
  max_size: number;
  total_memory: number;
  available_processors: number;
  start_time: string;
  version: string;
}

const from = `SELECT server, server_type, tier, is_leader, curr_size, max_size, total_memory, available_processors, start_time, version FROM sys.servers`;

const columns: ListColumn<Service>[] = [
  {
    name: "server_type",
    title: "Role",
    cell: (s) => (
      <>
        {s.server_type} {s.is_leader === 1 && <Tag kind="good">leads</Tag>}
      </>
    ),
  },
  { name: "server", title: "Address", cell: (s) => <code>{s.server}</code> },
  { name: "tier", title: "Tier", cell: (s) => s.tier ?? "" },
  {
    name: "curr_size",
    title: "Segments",
    numeric: true,
    cell: (s) =>
      s.max_size > 0 ? (
        <>
          {bytes(s.curr_size)} of {bytes(s.max_size)}
          <Meter share={s.curr_size / s.max_size} label={`Disk usage of ${s.server}`} />
        </>
      ) : s.curr_size > 0 ? (
        bytes(s.curr_size)
      ) : (
        ""
      ),
  },
  { name: "total_memory", title: "Memory", numeric: true, cell: (s) => bytes(s.total_memory) },
  { name: "available_processors", title: "Processors", numeric: true, cell: (s) => count(s.available_processors) },
  { name: "start_time", title: "Started", cell: (s) => ago(s.start_time) },
  { name: "version", title: "Version" },
];

export default function Services() {
  const [params, go] = usePlace();
  return (
    <View title="Services">
      <Tabs
        label="Parts of the cluster"
        at={params.get("tab")}
        choose={(tab) => go({ tab })}
        tabs={[
          { id: "processes", name: "Processes", content: () => <Processes /> },
          { id: "queues", name: "Load queues", content: () => <Suspense fallback={<Skeleton lines={5} />}><Queues /></Suspense> },
          { id: "workers", name: "Workers", content: () => <Suspense fallback={<Skeleton lines={5} />}><Workers /></Suspense> },
          { id: "configuration", name: "Configuration", content: () => <Suspense fallback={<Skeleton lines={8} />}><Configuration /></Suspense> },
        ]}
      />
    </View>
  );
}

function Processes() {
  return (
    <List<Service>
      name="Services"
      from={from}
      columns={columns}
      filter="server"
      filterLabel="Find by address"
      order={{ column: "server_type", down: false }}
      every={5_000}
      empty="No process has announced itself."
    />
  );
}
