// Roles: their permissions with rules on rows and columns, members and limits.
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask } from "../api/ask";
import { select } from "../api/sql";
import { Confirm, Dialog } from "../ui/dialog";
import { Failure } from "../ui/parts";
import { Table, type TableColumn } from "../ui/table";
import { Panel, Tabs } from "../ui/tabs";
import type { Subject } from "../views/users";
import { AddDialog } from "./add";
import { under, useChange, type People, type Role } from "./data";
import { LimitsOf } from "./limits";
import { Names } from "./names";
import type { Db } from "./people";
import { emptyLine, linesOf, permissionsOf, ruleOf, summary, types, wrong, type Line } from "./permissions";

type Open = { what: "add" } | { what: "show" | "delete"; name: string };

export default function Roles({ people, db, look }: { people: People; db: Db; look: (s: Subject) => void }) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const role = open && open.what !== "add" ? people.roles.find((r) => r.name === open.name) : undefined;
  const columns: TableColumn<Role>[] = [
    { title: "Name", text: (r) => r.name, cell: (r) => <button className="plain" onClick={() => setOpen({ what: "show", name: r.name })}>{r.name}</button> },
    { title: "May", text: (r) => summary(r.permissions), cell: (r) => <Summary text={summary(r.permissions)} /> },
    { title: "Users", text: (r) => r.users.length, numeric: true, cell: (r) => <span title={r.users.join(", ")}>{r.users.length}</span> },
    {
      title: "Actions",
      fixed: true,
      cell: (r) => (
        <span className="row" style={{ flexWrap: "nowrap" }}>
          <button aria-label={`View as ${r.name}`} onClick={() => look({ roles: [r.name] })}>View as</button>
          <button className="danger" aria-label={`Delete ${r.name}`} onClick={() => setOpen({ what: "delete", name: r.name })}>Delete</button>
        </span>
      ),
    },
  ];
  return (
    <>
      <Table<Role>
        name="Roles" rows={people.roles} columns={columns} id={(r) => r.name} find="Find by name or permission" empty="No roles yet."
        actions={<button className="primary" onClick={() => setOpen({ what: "add" })}>New role</button>}
      />
      {open?.what === "add" && <Add people={people} db={db} close={close} then={(name) => setOpen({ what: "show", name })} />}
      {open?.what === "show" && role && <Show role={role} people={people} db={db} close={close} look={look} />}
      {open?.what === "delete" && role && (
        <Confirm
          title={`Delete role ${role.name}`} yes="Delete" close={close} done={close} reads="users"
          act={() => ask("DELETE /service-ext/basic-security/authorization/db/{name}/roles/{role}", { under, path: { name: db.authorizer, role: role.name } })}
        >
          <b>{role.name}</b> is taken from {role.users.length === 1 ? "its user" : `its ${role.users.length} users`} and from all groups.
        </Confirm>
      )}
    </>
  );
}

const summaryLength = 160;

function Summary({ text }: { text: string }) {
  if (text === "") return <span className="muted">nothing</span>;
  return <span title={text}>{text.length > summaryLength ? `${text.slice(0, summaryLength)}…` : text}</span>;
}

function Add({ people, db, close, then }: { people: People; db: Db; close: () => void; then: (name: string) => void }) {
  const [name, setName] = useState("");
  const change = useChange(() => then(name));
  const wrong = name === "" ? "Enter a name." : people.roles.some((r) => r.name === name) ? `Role ${name} already exists.` : /^\.|[/\\;]/.test(name) ? "A name cannot contain a slash, backslash or semicolon, or begin with a dot." : undefined;
  return (
    <AddDialog
      title="New role" close={close} wrong={wrong} change={change}
      save={() => ask("POST /service-ext/basic-security/authorization/db/{name}/roles/{role}", { under, path: { name: db.authorizer, role: name } })}
    >
      <div className="form">
        <label>
          <span>Name</span>
          <input value={name} onChange={(e) => setName(e.target.value)} autoFocus autoComplete="off" />
        </label>
      </div>
    </AddDialog>
  );
}

const parts = ["Permissions", "Users", "Limits"] as const;

function Show({ role, people, db, close, look }: { role: Role; people: People; db: Db; close: () => void; look: (s: Subject) => void }) {
  const [at, setAt] = useState<(typeof parts)[number]>("Permissions");
  const change = useChange();
  const path = { name: db.authorizer, role: role.name };
  const limits = useQuery({
    queryKey: ["users", "limits of a role", db.authorizer, role.name],
    queryFn: ({ signal }) => ask("GET /service-ext/basic-security/authorization/db/{name}/roles/{role}/limits", { under, path }, signal),
    enabled: at === "Limits",
  });
  return (
    <Dialog title={`Role ${role.name}`} close={close} width={900}>
      <div className="stack" style={{ marginTop: 8 }}>
        <Tabs label="Parts of the role" tabs={parts} at={at} choose={setAt} />
        <Panel label={at}>
          {at === "Permissions" && <Editor role={role} db={db} look={look} />}
          {at === "Users" && (
            <>
              <Names
                label="Users with the role" names={role.users} offered={people.users.filter((u) => u.authorized).map((u) => u.name)} busy={change.isPending}
                add={(user) => change.mutate(() => ask("POST /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", { under, path: { ...path, user } }))}
                remove={(user) => change.mutate(() => ask("DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", { under, path: { ...path, user } }))}
              />
              {change.error && <Failure error={change.error} />}
            </>
          )}
          {at === "Limits" && (
            <LimitsOf of={limits} save={(body) => ask("POST /service-ext/basic-security/authorization/db/{name}/roles/{role}/limits", { under, path, body })} />
          )}
        </Panel>
      </div>
    </Dialog>
  );
}

/** The rules that are sent are tried at once: one that can't be applied would refuse every query. */
async function check(role: string, lines: Line[]): Promise<void> {
  for (const l of lines) {
    if (ruleOf(l) && /^[\w -]+$/.test(l.pattern)) await ask("POST /service-ext/access/preview", { body: { roles: [role], dataSource: l.pattern } });
  }
}

function Editor({ role, db, look }: { role: Role; db: Db; look: (s: Subject) => void }) {
  const [lines, setLines] = useState<Line[]>(() => linesOf(role.permissions));
  const [saved, setSaved] = useState(false);
  const list = useId();
  const change = useChange(() => setSaved(true));
  const tables = useQuery({
    queryKey: ["users", "datasources"],
    queryFn: ({ signal }) => select<{ name: string }>("SELECT TABLE_NAME AS \"name\" FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'service' ORDER BY 1 LIMIT 1000", signal),
  });
  const fault = wrong(lines);
  const set = (i: number, l: Partial<Line>) => {
    setSaved(false);
    setLines(lines.map((o, j) => (i === j ? { ...o, ...l } : o)));
  };
  const save = async () => {
    await ask("POST /service-ext/basic-security/authorization/db/{name}/roles/{role}/permissions", { under, path: { name: db.authorizer, role: role.name }, body: permissionsOf(lines) });
    await check(role.name, lines);
  };
  return (
    <form className="stack" onSubmit={(e) => (e.preventDefault(), fault === undefined && change.mutate(save))}>
      <datalist id={list}>
        {tables.data?.map((t) => <option key={t.name} value={t.name} />)}
      </datalist>
      {lines.length === 0 && <div className="empty">The role has no permissions yet.</div>}
      {lines.map((l, i) => (
        <LineEditor key={i} number={i + 1} line={l} list={list} set={(part) => set(i, part)} remove={() => (setSaved(false), setLines(lines.filter((_, j) => j !== i)))} />
      ))}
      <p className="muted" style={{ margin: 0 }}>
        A pattern is a regular expression that must match the whole name: <code>wiki</code> is one datasource, <code>wiki.*</code> all datasources with that prefix. WRITE does not include READ.
      </p>
      {change.error && <Failure error={change.error} />}
      <div className="row">
        <button type="button" onClick={() => setLines([...lines, emptyLine])}>
          Add permission
        </button>
        <span className="grow" role="status">
          {fault ? <span className="bad">{fault}</span> : saved && <span className="good">Saved. It applies from the next request.</span>}
        </span>
        <button type="button" onClick={() => look({ roles: [role.name], dataSource: lines.find((l) => l.type === "DATASOURCE" && l.read && ruleOf(l))?.pattern })}>
          View as
        </button>
        <button className="primary" disabled={fault !== undefined || change.isPending}>
          Save permissions
        </button>
      </div>
    </form>
  );
}

function LineEditor({ number, line: l, list, set, remove }: { number: number; line: Line; list: string; set: (l: Partial<Line>) => void; remove: () => void }) {
  const canRule = l.type === "DATASOURCE" && l.read;
  const [open, setOpen] = useState(() => ruleOf(l) !== undefined);
  return (
    <fieldset className="card stack" style={{ gap: 8, margin: 0 }}>
      <legend className="sr">Permission {number}</legend>
      <div className="row">
        <select aria-label="Type" value={l.type} onChange={(e) => set({ type: e.target.value })}>
          {[...new Set([...types, l.type])].map((t) => (
            <option key={t}>{t}</option>
          ))}
        </select>
        <input aria-label="Pattern" className="mono grow" style={{ minWidth: 140 }} placeholder="Pattern" value={l.pattern} list={l.type === "DATASOURCE" ? list : undefined} onChange={(e) => set({ pattern: e.target.value })} />
        <label>
          <input type="checkbox" checked={l.read} onChange={(e) => set({ read: e.target.checked })} /> READ
        </label>
        <label>
          <input type="checkbox" checked={l.write} onChange={(e) => set({ write: e.target.checked })} /> WRITE
        </label>
        {canRule && (
          <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
            Rows and columns
          </button>
        )}
        <button type="button" className="danger" aria-label={`Remove permission ${number}`} onClick={remove}>
          Remove
        </button>
      </div>
      {canRule && open && (
        <div className="form">
          <label>
            <span>Only rows where</span>
            <input className="mono" placeholder="all rows, or an SQL condition such as region = CURRENT_USER_ATTRIBUTE('region')" value={l.rows} onChange={(e) => set({ rows: e.target.value })} />
          </label>
          {l.columns.map((c, i) => (
            <div key={i} className="row wide-field">
              <input aria-label={`Column ${i + 1}`} style={{ width: 180 }} placeholder="Column" value={c.name} onChange={(e) => set({ columns: l.columns.map((o, j) => (i === j ? { ...o, name: e.target.value } : o)) })} />
              <input
                aria-label={`Shown instead of column ${i + 1}`} className="mono grow" style={{ width: "auto", minWidth: 140 }} placeholder="hidden, or an SQL expression to show instead"
                value={c.mask} onChange={(e) => set({ columns: l.columns.map((o, j) => (i === j ? { ...o, mask: e.target.value } : o)) })}
              />
              <button type="button" aria-label={`Show column ${i + 1} as it is`} onClick={() => set({ columns: l.columns.filter((_, j) => j !== i) })}>
                ×
              </button>
            </div>
          ))}
          <div className="wide-field">
            <button type="button" onClick={() => set({ columns: [...l.columns, { name: "", mask: "" }] })}>
              Hide or mask a column
            </button>
          </div>
        </div>
      )}
    </fieldset>
  );
}
