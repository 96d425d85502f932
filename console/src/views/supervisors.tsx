// Supervisors: what reads streams, and what can be done with each.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { call } from "../api/client";
import { placeOf, usePlace } from "../data/place";
import { List, type ListColumn } from "../ui/list";
import { Failure, Skeleton, Tag, View } from "../ui/parts";

const Supervisor = lazy(async () => ({ default: (await import("../data/supervisor")).Supervisor }));

interface Row {
  supervisor_id: string;
  type: string;
  datasource: string;
  source: string | null;
  detailed_state: string;
  healthy: number;
  suspended: number;
}

const from = `SELECT supervisor_id, type, datasource, source, detailed_state, healthy, suspended FROM sys.supervisors`;

export default function Supervisors() {
  const [params] = usePlace();
  const id = params.get("id");
  if (id === null) return <All />;
  return (
    <Suspense fallback={<div className="view"><Skeleton lines={6} /></div>}>
      <Supervisor key={id} id={id} />
    </Suspense>
  );
}

function All() {
  const cache = useQueryClient();
  const act = useMutation({
    mutationFn: ({ id, what }: { id: string; what: string }) => call("POST", `/service/indexer/v1/supervisor/${encodeURIComponent(id)}${what}`),
    onSettled: () => cache.invalidateQueries({ queryKey: ["list", "Supervisors"] }),
  });
  const columns: ListColumn<Row>[] = [
    { name: "supervisor_id", title: "Id", cell: (s) => <Link href={placeOf("/supervisors", { id: s.supervisor_id })}>{s.supervisor_id}</Link> },
    { name: "type", title: "Type" },
    { name: "datasource", title: "Datasource" },
    { name: "source", title: "Source", cell: (s) => s.source ?? "" },
    { name: "detailed_state", title: "State", cell: (s) => <Tag kind={s.healthy === 1 ? "good" : "bad"}>{s.detailed_state}</Tag> },
    {
      name: "suspended",
      title: "Reads",
      cell: (s) => (
        <button disabled={act.isPending} onClick={() => act.mutate({ id: s.supervisor_id, what: s.suspended === 1 ? "/resume" : "/suspend" })}>
          {s.suspended === 1 ? "Resume" : "Suspend"}
        </button>
      ),
    },
  ];
  return (
    <View title="Supervisors">
      {act.error && <Failure error={act.error} />}
      <List<Row>
        name="Supervisors"
        from={from}
        columns={columns}
        filter="supervisor_id"
        filterLabel="Find by id"
        order={{ column: "supervisor_id", down: false }}
        every={3_000}
        empty="No supervisors yet. A supervisor reads a stream into a datasource; henge stream creates one from a topic."
      />
    </View>
  );
}
