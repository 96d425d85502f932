// The anatomy of a segment: what its file is made of.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, call } from "../api/client";
import { bytes, count, instant } from "../api/format";
import { literal, select } from "../api/sql";
import type { Schemas } from "../api/types";
import { useSettings } from "../settings";
import { Heads } from "../ui/heads";
import { Failure, Skeleton } from "../ui/parts";
import { change, part } from "./change";
import { shown } from "./editor";
import { Dialog, Facts, Tabs } from "./parts";
import { Why } from "./why";

type Column = Schemas["AnatomyColumn"];

export function Anatomy({ dataSource, id, close }: { dataSource: string; id: string; close: () => void }) {
  const [tab, setTab] = useState("columns");
  return (
    <Dialog title={`Segment ${id}`} close={close} width={1060}>
      <Tabs
        label="Parts of the segment"
        at={tab}
        choose={setTab}
        tabs={[
          { id: "columns", name: "Anatomy", content: () => <Columns dataSource={dataSource} id={id} /> },
          { id: "why", name: "Why", content: () => <Why of="segment" id={id} /> },
          { id: "record", name: "Record", content: () => <Record dataSource={dataSource} id={id} close={close} /> },
        ]}
      />
    </Dialog>
  );
}

const base = (dataSource: string, id: string) => `/service/coordinator/v1/metadata/datasources/${part(dataSource)}/segments/${part(id)}`;

function Columns({ dataSource, id }: { dataSource: string; id: string }) {
  const { zone } = useSettings();
  const anatomy = useQuery({
    queryKey: ["anatomy", id],
    queryFn: ({ signal }) => call<Schemas["Anatomy"]>("GET", `${base(dataSource, id)}/inspect`, undefined, signal),
    staleTime: Infinity,
    retry: false,
  });
  const a = anatomy.data;
  if (anatomy.error) {
    const none = anatomy.error instanceof ApiError && anatomy.error.status === 404;
    return none ? <div className="empty">{anatomy.error.message}. Rows that are still in memory have no file yet.</div> : <Failure error={anatomy.error} retry={() => void anatomy.refetch()} />;
  }
  if (!a) return <Skeleton lines={8} />;
  return (
    <>
      <Facts
        list={[
          ["Rows", count(a.rows)],
          ["Size", bytes(a.size)],
          ["Bytes per row", a.bytesPerRow.toFixed(1)],
          ["Times", a.minTime ? `${instant(a.minTime, zone)} to ${instant(a.maxTime ?? "", zone)}` : "none"],
          ["Sorted by", a.sortOrder?.join(", ") || "nothing"],
          ["Rollup", a.rollup ? "yes" : "no"],
          ["Granularity of time", a.queryGranularity || "none"],
          ["Format", `version ${a.version}`],
          ["Outside columns", bytes(a.footerSize)],
        ]}
      />
      <div className="scroll" tabIndex={0} role="region" aria-label="Columns" style={{ maxHeight: "50vh" }}>
        <table className="list">
          <thead>
            <tr>
              <Heads names={["Column", "Type", "Encoding"]} />
              <Heads names={["Nulls", "Different"]} num />
              <th>
                <span>Minimum and maximum</span>
              </th>
              <th>
                <span>Indexed</span>
              </th>
              <th className="num">
                <span>Size</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {a.columns.map((c, i) => (
              <Rows key={i} c={c} size={a.size} />
            ))}
          </tbody>
        </table>
      </div>
      <p className="muted mono">{a.file}</p>
      {a.metadata !== undefined && a.metadata !== null && (
        <details>
          <summary>Metadata of the writer</summary>
          <pre>{shown(a.metadata)}</pre>
        </details>
      )}
    </>
  );
}

function bound(v: unknown, zone: string, time: boolean): string {
  if (time && typeof v === "number") return instant(new Date(v).toISOString(), zone);
  return v === undefined || v === null ? "?" : typeof v === "object" ? shown(v) : String(v);
}

function Rows({ c, size, depth = 0 }: { c: Column; size: number; depth?: number }) {
  const { zone } = useSettings();
  const [open, setOpen] = useState(false);
  const name = depth > 0 ? "elements" : c.path ? `${c.name} ${c.path}` : c.name;
  return (
    <>
      <tr>
        <td style={{ paddingLeft: 10 + 16 * depth }}>
          <button className="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
            {name}
          </button>
        </td>
        <td>
          {c.type}
          {c.multiValue && " multi-value"}
          {c.metric && ` ${c.metric}`}
        </td>
        <td>{c.encoding}</td>
        <td className="num">{count(c.nulls)}</td>
        <td className="num">{c.cardinality === undefined ? "?" : `${c.cardinalityExact ? "" : "~"}${count(c.cardinality)}`}</td>
        <td>{c.min === undefined && c.max === undefined ? "" : `${bound(c.min, zone, c.name === "__time")} to ${bound(c.max, zone, c.name === "__time")}`}</td>
        <td>{c.indexed ? "yes" : ""}</td>
        <td className="num">
          <span className="share" style={{ width: Math.max(1, Math.round((60 * c.size) / size)) }} />
          {bytes(c.size)}
        </td>
      </tr>
      {open && (
        <tr className="more">
          <td colSpan={8}>
            {c.detail && <p>{c.detail}</p>}
            <table>
              <tbody>
                {c.parts.map((p, i) => (
                  <tr key={i}>
                    <td>{p.name}</td>
                    <td className="num">{count(p.size)} bytes</td>
                    <td className="num">at {count(p.offset)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </td>
        </tr>
      )}
      {open && c.elements && <Rows c={c.elements} size={size} depth={depth + 1} />}
    </>
  );
}

/** The descriptor, where it is loaded, and whether it is used. */
function Record({ dataSource, id, close }: { dataSource: string; id: string; close: () => void }) {
  const cache = useQueryClient();
  const record = useQuery({
    queryKey: ["segment", id],
    queryFn: ({ signal }) => call<unknown>("GET", `${base(dataSource, id)}?includeUnused=true`, undefined, signal),
    retry: false,
  });
  const servers = useQuery({
    queryKey: ["segment servers", id],
    queryFn: ({ signal }) => select<{ server: string }>(`SELECT server FROM sys.server_segments WHERE segment_id = ${literal(id)} ORDER BY 1`, signal),
  });
  const unuse = useMutation({
    mutationFn: () => change("DELETE", `/service/coordinator/v1/datasources/${part(dataSource)}/segments/${part(id)}`),
    onSuccess: () => (void cache.invalidateQueries({ queryKey: ["list", "Segments"] }), close()),
  });
  return (
    <>
      {(record.error ?? unuse.error) && <Failure error={(record.error ?? unuse.error)!} />}
      {servers.data && (
        <p>
          {servers.data.length === 0 ? "No server has it." : `Servers that have it: ${servers.data.map((s) => s.server).join(", ")}`}
        </p>
      )}
      {record.isPending && <Skeleton lines={6} />}
      {record.data !== undefined && <pre>{shown(record.data)}</pre>}
      <div>
        <button className="danger" disabled={unuse.isPending || !record.data} onClick={() => unuse.mutate()}>
          Mark unused
        </button>
      </div>
    </>
  );
}
