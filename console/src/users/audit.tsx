// What was done: the datasource __audit, the newest first.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { duration, instant } from "../api/format";
import { ident, literal, select } from "../api/sql";
import { useSettings } from "../settings";
import { Dialog } from "../ui/dialog";
import { List, type ListColumn } from "../ui/list";
import { Failure, Skeleton, Tag } from "../ui/parts";

interface Entry {
  __time: string;
  kind: string | null;
  identity: string | null;
  means: string | null;
  address: string | null;
  door: string | null;
  method: string | null;
  path: string | null;
  statement: string | null;
  query_id: string | null;
  datasources: unknown;
  policies: unknown;
  outcome: string | null;
  error: string | null;
  server: string | null;
  rows: number | null;
  bytes: number | null;
  duration_ms: number | null;
  status: number | null;
}

const choices = {
  kind: ["query", "login", "denial", "change", "read"],
  outcome: ["success", "denied", "refused", "invalid", "failed", "timeout", "canceled", "begun"],
  door: ["sql", "native", "jdbc", "postgresql", "preview", "statement", "http"],
};

const ranges: Record<string, string> = { "Last hour": "INTERVAL '1' HOUR", "Last day": "INTERVAL '1' DAY", "Last 30 days": "INTERVAL '30' DAY", "All": "" };

type Filters = Record<keyof typeof choices, string> & { identity: string; range: string };

/** Writes the query of entries. What is asked stands in one text, which the list finds words in. */
export function entriesOf(f: Filters): string {
  const conditions = [
    ...(["kind", "outcome", "door", "identity"] as const).flatMap((c) => (f[c] === "" ? [] : [`${ident(c)} = ${literal(f[c])}`])),
    ...(ranges[f.range] ? [`"__time" >= CURRENT_TIMESTAMP - ${ranges[f.range]}`] : []),
  ];
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return `SELECT *, COALESCE("statement", CONCAT(COALESCE("method", ''), ' ', COALESCE("path", ''))) AS "asked" FROM "__audit"${where}`;
}

export default function Audit() {
  const { zone } = useSettings();
  const [filters, setFilters] = useState<Filters>({ kind: "", outcome: "", door: "", identity: "", range: "Last day" });
  const [identity, setIdentity] = useState("");
  const [open, setOpen] = useState<Entry>();
  const there = useQuery({
    queryKey: ["users", "audit"],
    queryFn: ({ signal }) => select("SELECT 1 FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = '__audit'", signal),
    refetchInterval: (q) => (q.state.data?.length ? false : 3_000),
  });
  if (there.error) return <Failure error={there.error} retry={() => void there.refetch()} />;
  if (!there.data) return <Skeleton lines={4} />;
  if (there.data.length === 0) {
    return (
      <div className="empty">
        There is no audit log that you may read. With <code>service.audit.enabled=true</code> the processes tell the datasource <code>__audit</code> who did what; the permission READ DATASOURCE __audit shows it.
      </div>
    );
  }
  const columns: ListColumn<Entry & { asked: string }>[] = [
    { name: "__time", title: "When", fixed: true, cell: (e) => instant(e.__time, zone) },
    { name: "kind", title: "Kind", fixed: true },
    { name: "identity", title: "Who", cell: (e) => e.identity ?? <span className="muted">nobody</span> },
    { name: "door", title: "By", cell: (e) => e.door ?? "" },
    { name: "outcome", title: "Outcome", cell: (e) => <Tag kind={e.outcome === "success" ? "good" : e.outcome === "denied" || e.outcome === "refused" ? "bad" : "warn"}>{e.outcome}</Tag> },
    {
      name: "asked",
      title: "What",
      cell: (e) => (
        <button className="plain mono" onClick={() => setOpen(e)}>
          {e.asked.length > 120 ? `${e.asked.slice(0, 120)}…` : e.asked.trim() || "(nothing)"}
        </button>
      ),
    },
    { name: "duration_ms", title: "Took", numeric: true, cell: (e) => (e.duration_ms === null ? "" : duration(e.duration_ms)) },
  ];
  const from = entriesOf(filters);
  const query = `SELECT "__time", kind, "identity", door, outcome, "asked"\nFROM (${from})\nORDER BY "__time" DESC\nLIMIT 100`;
  return (
    <>
      <div className="row" role="group" aria-label="Filters">
        {(Object.keys(choices) as (keyof typeof choices)[]).map((c) => (
          <label key={c}>
            <span className="sr">{c}</span>
            <select value={filters[c]} onChange={(e) => setFilters({ ...filters, [c]: e.target.value })}>
              <option value="">any {c}</option>
              {choices[c].map((v) => (
                <option key={v}>{v}</option>
              ))}
            </select>
          </label>
        ))}
        <label>
          <span className="sr">time</span>
          <select value={filters.range} onChange={(e) => setFilters({ ...filters, range: e.target.value })}>
            {Object.keys(ranges).map((r) => (
              <option key={r}>{r}</option>
            ))}
          </select>
        </label>
        <form className="row" onSubmit={(e) => (e.preventDefault(), setFilters({ ...filters, identity: identity.trim() }))}>
          <input aria-label="Who, exactly" placeholder="Who, exactly" value={identity} onChange={(e) => setIdentity(e.target.value)} />
          <button>Filter</button>
        </form>
        <span className="grow" />
        <Link href={`/query?sql=${encodeURIComponent(query)}`}>Open in Query</Link>
      </div>
      <List<Entry & { asked: string }>
        key={from} name="Audit" from={from} columns={columns} filter="asked" filterLabel="Search requests" order={{ column: "__time", down: true }} every={10_000}
        empty="No matching entries."
      />
      {open && <Details entry={open} zone={zone} close={() => setOpen(undefined)} />}
    </>
  );
}

function Details({ entry, zone, close }: { entry: Entry; zone: string; close: () => void }) {
  const lines: [string, unknown][] = [
    ["When", instant(entry.__time, zone)], ["Kind", entry.kind], ["Who", entry.identity], ["Known by", entry.means], ["From", entry.address], ["By", entry.door],
    ["Request", entry.method && `${entry.method} ${entry.path ?? ""}`], ["Outcome", entry.outcome], ["Status", entry.status], ["Error", entry.error],
    ["Datasources", entry.datasources], ["Rules", entry.policies], ["Rows", entry.rows], ["Bytes", entry.bytes], ["Query id", entry.query_id], ["Process", entry.server],
  ];
  return (
    <Dialog title="An entry of the audit" close={close} width={760}>
      <div className="stack" style={{ marginTop: 8 }}>
        {entry.statement && <pre className="code" style={{ maxHeight: 260 }} tabIndex={0} aria-label="Statement">{entry.statement}</pre>}
        <table className="list">
          <tbody>
            {lines
              .filter(([, v]) => v !== null && v !== undefined && v !== "" && v !== false)
              .map(([name, v]) => (
                <tr key={name}>
                  <th scope="row">
                    <span>{name}</span>
                  </th>
                  <td>{typeof v === "object" ? JSON.stringify(v) : String(v)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  );
}
