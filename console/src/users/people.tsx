// Users: their passwords, roles and limits.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask } from "../api/ask";
import { Confirm, Dialog } from "../ui/dialog";
import { Failure, Tag } from "../ui/parts";
import { Table, type TableColumn } from "../ui/table";
import { Panel, Tabs } from "../ui/tabs";
import type { Subject } from "../views/users";
import { AddDialog } from "./add";
import { under, useChange, type People, type Self, type User } from "./data";
import { LimitsOf } from "./limits";
import { Names } from "./names";

export interface Db {
  authenticator: string | undefined;
  authorizer: string;
}

type Open = { what: "add" } | { what: "show" | "delete"; name: string };

export default function Users({ people, db, self, look }: { people: People; db: Db; self: Self; look: (s: Subject) => void }) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const user = open && open.what !== "add" ? people.users.find((u) => u.name === open.name) : undefined;
  const columns: TableColumn<User>[] = [
    { title: "Name", text: (u) => u.name, cell: (u) => <button className="plain" onClick={() => setOpen({ what: "show", name: u.name })}>{u.name}</button> },
    { title: "Password", text: (u) => (u.password ? "yes" : "no"), cell: (u) => (u.password ? "yes" : <span className="muted">none</span>) },
    {
      title: "Roles",
      text: (u) => u.roles.join(" "),
      cell: (u) => (u.roles.length === 0 ? <Tag kind="warn">none: no access</Tag> : u.roles.map((r) => <span key={r}><Tag>{r}</Tag> </span>)),
    },
    {
      title: "Actions",
      fixed: true,
      cell: (u) => (
        <span className="row" style={{ flexWrap: "nowrap" }}>
          <button aria-label={`View as ${u.name}`} onClick={() => look({ user: u.name })}>View as</button>
          <button className="danger" aria-label={`Delete ${u.name}`} onClick={() => setOpen({ what: "delete", name: u.name })}>Delete</button>
        </span>
      ),
    },
  ];
  return (
    <>
      <Table<User>
        name="Users" rows={people.users} columns={columns} id={(u) => u.name} find="Find by name or role" empty="No users yet."
        actions={<button className="primary" onClick={() => setOpen({ what: "add" })}>New user</button>}
      />
      {open?.what === "add" && <Add people={people} db={db} close={close} />}
      {open?.what === "show" && user && <Show user={user} people={people} db={db} close={close} />}
      {open?.what === "delete" && user && (
        <Confirm title={`Delete user ${user.name}`} yes="Delete" close={close} done={close} reads="users" act={() => remove(user, db)}>
          {user.name === self.user ? "This is your own user: your next request is rejected. " : ""}
          <b>{user.name}</b> can no longer log in and has no roles. Running queries continue.
        </Confirm>
      )}
    </>
  );
}

async function remove(u: User, db: Db): Promise<void> {
  if (u.authorized) await ask("DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}", { under, path: { name: db.authorizer, user: u.name } });
  if (u.authenticated && db.authenticator) {
    await ask("DELETE /service-ext/basic-security/authentication/db/{name}/users/{user}", { under, path: { name: db.authenticator, user: u.name } });
  }
}

/** Makes the entry of a user in the authenticator, if it has none, and sets the password. */
async function setPassword(name: string, known: boolean, db: Db, password: string): Promise<void> {
  const path = { name: db.authenticator!, user: name };
  if (!known) await ask("POST /service-ext/basic-security/authentication/db/{name}/users/{user}", { under, path });
  await ask("POST /service-ext/basic-security/authentication/db/{name}/users/{user}/credentials", { under, path, body: { password } });
}

function Add({ people, db, close }: { people: People; db: Db; close: () => void }) {
  const [name, setName] = useState("");
  const [password, setPasswordText] = useState("");
  const [roles, setRoles] = useState<string[]>([]);
  const change = useChange(close);
  const wrong =
    name === "" ? "Enter a name."
    : people.users.some((u) => u.name === name) ? `User ${name} already exists.`
    : /^\.|[/\\:;]/.test(name) ? "A name cannot contain a slash, backslash, colon or semicolon, or begin with a dot."
    : undefined;
  const save = async () => {
    const path = { name: db.authorizer, user: name };
    await ask("POST /service-ext/basic-security/authorization/db/{name}/users/{user}", { under, path });
    for (const role of roles) await ask("POST /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", { under, path: { ...path, role } });
    if (password !== "" && db.authenticator) await setPassword(name, false, db, password);
  };
  return (
    <AddDialog title="New user" close={close} wrong={wrong} change={change} save={save}>
      <div className="form">
        <label>
          <span>Name</span>
          <input value={name} onChange={(e) => setName(e.target.value)} autoFocus autoComplete="off" />
        </label>
        {db.authenticator && (
          <label>
            <span>Password</span>
            <input type="password" value={password} onChange={(e) => setPasswordText(e.target.value)} autoComplete="new-password" placeholder="none: another authenticator knows the user" />
          </label>
        )}
      </div>
      <Names label="Roles" names={roles} offered={people.roles.map((r) => r.name)} add={(r) => setRoles([...roles, r])} remove={(r) => setRoles(roles.filter((o) => o !== r))} />
    </AddDialog>
  );
}

const parts = ["Roles", "Password", "Limits"] as const;

function Show({ user, people, db, close }: { user: User; people: People; db: Db; close: () => void }) {
  const [at, setAt] = useState<(typeof parts)[number]>("Roles");
  const change = useChange();
  const path = { name: db.authorizer, user: user.name };
  const give = async (role: string) => {
    if (!user.authorized) await ask("POST /service-ext/basic-security/authorization/db/{name}/users/{user}", { under, path });
    await ask("POST /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", { under, path: { ...path, role } });
  };
  const limits = useQuery({
    queryKey: ["users", "limits of a user", db.authorizer, user.name],
    queryFn: ({ signal }) => ask("GET /service-ext/basic-security/authorization/db/{name}/users/{user}/limits", { under, path }, signal),
    enabled: at === "Limits" && user.authorized,
  });
  return (
    <Dialog title={`User ${user.name}`} close={close} width={640}>
      <div className="stack" style={{ marginTop: 8 }}>
        <Tabs label="Parts of the user" tabs={parts} at={at} choose={setAt} />
        <Panel label={at}>
          {at === "Roles" && (
            <>
              <Names
                label="Roles of the user" names={user.roles} offered={people.roles.map((r) => r.name)} busy={change.isPending}
                add={(role) => change.mutate(() => give(role))}
                remove={(role) => change.mutate(() => ask("DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", { under, path: { ...path, role } }))}
              />
              {change.error && <Failure error={change.error} />}
            </>
          )}
          {at === "Password" && <Password user={user} db={db} />}
          {at === "Limits" &&
            (!user.authorized ? (
              <div className="empty">Limits need a role. Add a role first.</div>
            ) : (
              <LimitsOf of={limits} save={(body) => ask("POST /service-ext/basic-security/authorization/db/{name}/users/{user}/limits", { under, path, body })} />
            ))}
        </Panel>
      </div>
    </Dialog>
  );
}

function Password({ user, db }: { user: User; db: Db }) {
  const [text, setText] = useState("");
  const [again, setAgain] = useState("");
  const [saved, setSaved] = useState(false);
  const change = useChange(() => (setSaved(true), setText(""), setAgain("")));
  if (!db.authenticator) return <div className="empty">No authenticator stores passwords here.</div>;
  const wrong = text !== again && again !== "" ? "The passwords do not match." : undefined;
  return (
    <form className="stack" onSubmit={(e) => (e.preventDefault(), change.mutate(() => setPassword(user.name, user.authenticated, db, text)))}>
      <div className="form">
        <label>
          <span>New password</span>
          <input type="password" autoComplete="new-password" value={text} onChange={(e) => (setText(e.target.value), setSaved(false))} />
        </label>
        <label>
          <span>Repeat the password</span>
          <input type="password" autoComplete="new-password" value={again} onChange={(e) => setAgain(e.target.value)} />
        </label>
      </div>
      {change.error && <Failure error={change.error} />}
      <div className="row">
        <span className="grow" role="status">
          {wrong ? <span className="bad">{wrong}</span> : saved && <span className="good">The password is changed.</span>}
        </span>
        <button className="primary" disabled={text === "" || text !== again || change.isPending}>
          Set password
        </button>
      </div>
    </form>
  );
}
