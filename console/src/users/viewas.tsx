// How a datasource or a query looks to somebody else, and why.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { ask } from "../api/ask";
import { plain } from "../api/format";
import { literal, type Value } from "../api/sql";
import type { Schemas } from "../api/types";
import { Failure, Tag } from "../ui/parts";
import { Table } from "../ui/table";
import type { Subject } from "../views/users";
import { type People } from "./data";
import { named } from "../ui/named";
import { Names } from "./names";

type Preview = Schemas["Preview"];

/** Reads lines such as region=north: a name may stand on several, with a value each. */
export function attributesOf(text: string): Record<string, string[]> {
  const out: Record<string, string[]> = {};
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) (out[line.slice(0, at).trim()] ??= []).push(line.slice(at + 1).trim());
  }
  return out;
}

export default function ViewAs({ people, subject }: { people: People; subject: Subject }) {
  const [by, setBy] = useState<"user" | "roles">(subject.roles ? "roles" : "user");
  const [user, setUser] = useState(subject.user ?? "");
  const [roles, setRoles] = useState<string[]>(subject.roles ?? []);
  const [attributes, setAttributes] = useState("");
  const [of, setOf] = useState<"dataSource" | "query">("dataSource");
  const [dataSource, setDataSource] = useState(subject.dataSource ?? "");
  const [query, setQuery] = useState("");
  const [sample, setSample] = useState("10");
  const run = useMutation({
    mutationFn: () =>
      ask("POST /service-ext/access/preview", {
        body: {
          ...(by === "user" ? { user } : { roles }), ...(of === "dataSource" ? { dataSource } : { query }), attributes: attributesOf(attributes),
          sample: Number(sample) || 0,
        },
      }),
  });
  const ready = (by === "roles" || user !== "") && (of === "dataSource" ? dataSource !== "" : query.trim() !== "");
  return (
    <>
      <form className="card stack" onSubmit={(e) => (e.preventDefault(), ready && run.mutate())}>
        <div className="form">
          <label>
            <span>As</span>
            <select value={by} onChange={(e) => setBy(e.target.value as "user" | "roles")}>
              <option value="user">a user, with the stored roles</option>
              <option value="roles">anyone with these roles</option>
            </select>
          </label>
          {by === "user" ? (
            <label>
              <span>User</span>
              <input value={user} onChange={(e) => setUser(e.target.value)} list="view-as-users" />
            </label>
          ) : (
            <>
              <span>Roles</span>
              <Names label="Roles" names={roles} offered={people.roles.map((r) => r.name)} add={(r) => setRoles([...roles, r])} remove={(r) => setRoles(roles.filter((o) => o !== r))} />
            </>
          )}
          <label>
            <span>Attributes</span>
            <textarea className="mono" rows={2} value={attributes} placeholder="region=north, one per line, as a directory or token provides them" onChange={(e) => setAttributes(e.target.value)} />
          </label>
          <label>
            <span>Look at</span>
            <select value={of} onChange={(e) => setOf(e.target.value as "dataSource" | "query")}>
              <option value="dataSource">a datasource</option>
              <option value="query">a query</option>
            </select>
          </label>
          {of === "dataSource" ? (
            <label>
              <span>Datasource</span>
              <input value={dataSource} onChange={(e) => setDataSource(e.target.value)} />
            </label>
          ) : (
            <label>
              <span>Query</span>
              <textarea className="mono" rows={4} value={query} placeholder="SELECT ..." onChange={(e) => setQuery(e.target.value)} />
            </label>
          )}
          <label>
            <span>Rows to show</span>
            <input inputMode="numeric" value={sample} onChange={(e) => setSample(e.target.value.replace(/\D/g, ""))} />
          </label>
        </div>
        <datalist id="view-as-users">
          {people.users.map((u) => <option key={u.name} value={u.name} />)}
        </datalist>
        <div className="row">
          {by === "user" && of === "query" && ready && (
            <Link href={`/query?sql=${encodeURIComponent(`EXPLAIN ACCESS FOR USER ${literal(user)}\n${query}`)}`}>The same by SQL: EXPLAIN ACCESS FOR USER</Link>
          )}
          <span className="grow" />
          <button className="primary" disabled={!ready || run.isPending}>
            Look
          </button>
        </div>
      </form>
      {run.error && <Failure error={named(run.error, "READ CONFIG security, and to see rows, READ of all of the datasource")} />}
      {run.data && <Seen p={run.data} />}
    </>
  );
}

function Seen({ p }: { p: Preview }) {
  const sample = p.sample ?? [];
  return (
    <div className="stack" role="region" aria-label="Result">
      <div>
        {p.allowed ? <Tag kind="good">allowed</Tag> : <Tag kind="bad">refused</Tag>} {p.user === null ? "By the roles" : `User ${p.user} has the roles`}{" "}
        {p.roles.length === 0 ? <span className="muted">none</span> : p.roles.map((r) => <span key={r}><Tag>{r}</Tag> </span>)}
      </div>
      {p.needs.length > 0 && (
        <Table<Schemas["PreviewNeed"]>
          name="Permissions that it needs" rows={p.needs} id={(n) => `${n.action} ${n.resource.type} ${n.resource.name}`} empty=""
          columns={[
            { title: "Needs", text: (n) => `${n.action} ${n.resource.type} ${n.resource.name}`, cell: (n) => <code>{`${n.action} ${n.resource.type} ${n.resource.name}`}</code> },
            { title: "Exists", text: (n) => String(n.allowed), cell: (n) => (n.allowed ? <Tag kind="good">yes</Tag> : <Tag kind="bad">no</Tag>) },
            { title: "Under the rules of", cell: (n) => n.rules.map((r, i) => <div key={i}>{r.role}</div>) },
          ]}
        />
      )}
      {p.dataSources.map((d) => (
        <section key={d.name} className="stack" style={{ gap: 6 }} aria-label={`Rules on ${d.name}`}>
          <h2 style={{ margin: 0 }}>{d.name}</h2>
          <div>
            Rows:{" "}
            {d.rows.length === 0 ? "all" : d.rows.map((r, i) => (
              <span key={i}>
                {i > 0 && " or "}
                <code>{r.condition}</code> <span className="muted">(role {r.role})</span>
              </span>
            ))}
          </div>
          <Table<Schemas["PreviewColumn"]>
            name={`Columns of ${d.name}`} rows={d.columns} id={(c) => c.name} empty="It has no columns."
            columns={[
              { title: "Column", text: (c) => c.name, cell: (c) => c.name },
              { title: "Type", text: (c) => c.type, cell: (c) => c.type },
              { title: "Shown", text: (c) => c.shown ?? "", cell: (c) => <Tag kind={c.shown === "whole" ? "good" : c.shown === "hidden" ? "bad" : "warn"}>{c.shown}</Tag> },
              { title: "As", text: (c) => c.mask ?? "", cell: (c) => (c.mask ? <code>{c.mask}</code> : "") },
              { title: "By role", text: (c) => c.role ?? "", cell: (c) => c.role ?? "" },
            ]}
          />
        </section>
      ))}
      {p.sample && (sample.length === 0 ? <div className="empty">No rows are visible.</div> : <Sample rows={sample as Record<string, Value>[]} />)}
    </div>
  );
}

function Sample({ rows }: { rows: Record<string, Value>[] }) {
  const names = Object.keys(rows[0]!);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Visible rows">
      <table className="list">
        <thead>
          <tr>
            {names.map((n) => (
              <th key={n}>
                <span>{n}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={i}>
              {names.map((n) => (
                <td key={n} className={String(r[n]).length < 40 ? "fixed" : undefined}>{r[n] === null || r[n] === undefined ? <span className="muted">NULL</span> : plain(r[n])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
