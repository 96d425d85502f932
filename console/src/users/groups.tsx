// Groups of a directory, and the roles that their members have.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask } from "../api/ask";
import { Confirm, Dialog } from "../ui/dialog";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { Table } from "../ui/table";
import { AddDialog } from "./add";
import { namesOf, under, useChange, type People } from "./data";
import { named } from "../ui/named";
import { Names } from "./names";
import type { Db } from "./people";

interface Mapping {
  name: string;
  groupPattern: string;
  roles: string[];
}

/** Reads all mappings in one request. */
async function read(authorizer: string, signal: AbortSignal): Promise<Mapping[]> {
  const { groupMappingMap } = await ask("GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedGroupMappingMap", { under, path: { name: authorizer } }, signal);
  return Object.values(groupMappingMap)
    .map((g) => ({ ...g, roles: namesOf(g.roles) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

type Open = { what: "add" } | { what: "show" | "delete"; name: string };

export default function Groups({ people, db }: { people: People; db: Db }) {
  const [open, setOpen] = useState<Open>();
  const groups = useQuery({ queryKey: ["users", "groups", db.authorizer], queryFn: ({ signal }) => read(db.authorizer, signal) });
  const close = () => setOpen(undefined);
  const mapping = open && open.what !== "add" ? groups.data?.find((g) => g.name === open.name) : undefined;
  if (groups.error) return <Failure error={named(groups.error, "READ CONFIG security")} retry={() => void groups.refetch()} />;
  if (!groups.data) return <Skeleton lines={4} />;
  return (
    <>
      <Table<Mapping>
        name="Groups" rows={groups.data} id={(g) => g.name} find="Find by name, pattern or role"
        empty="No mappings yet. A mapping gives roles to the members of directory groups (LDAP)."
        actions={<button className="primary" onClick={() => setOpen({ what: "add" })}>New mapping</button>}
        columns={[
          { title: "Name", text: (g) => g.name, cell: (g) => <button className="plain" onClick={() => setOpen({ what: "show", name: g.name })}>{g.name}</button> },
          { title: "Groups", text: (g) => g.groupPattern, cell: (g) => <code>{g.groupPattern}</code> },
          { title: "Roles", text: (g) => g.roles.join(" "), cell: (g) => g.roles.map((r) => <span key={r}><Tag>{r}</Tag> </span>) },
          { title: "Actions", fixed: true, cell: (g) => <button className="danger" aria-label={`Delete ${g.name}`} onClick={() => setOpen({ what: "delete", name: g.name })}>Delete</button> },
        ]}
      />
      {open?.what === "add" && <Add taken={groups.data} people={people} db={db} close={close} />}
      {open?.what === "show" && mapping && <Show mapping={mapping} people={people} db={db} close={close} />}
      {open?.what === "delete" && mapping && (
        <Confirm
          title={`Delete mapping ${mapping.name}`} yes="Delete" close={close} done={close} reads="users"
          act={() => ask("DELETE /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}", { under, path: { name: db.authorizer, group: mapping.name } })}
        >
          Members of <code>{mapping.groupPattern}</code> lose the roles that they have by <b>{mapping.name}</b>.
        </Confirm>
      )}
    </>
  );
}

function Add({ taken, people, db, close }: { taken: Mapping[]; people: People; db: Db; close: () => void }) {
  const [name, setName] = useState("");
  const [groupPattern, setPattern] = useState("");
  const [roles, setRoles] = useState<string[]>([]);
  const change = useChange(close);
  const wrong = name === "" ? "Enter a name." : taken.some((g) => g.name === name) ? `Mapping ${name} already exists.` : groupPattern === "" ? "Enter the groups." : undefined;
  return (
    <AddDialog
      title="New mapping of groups" close={close} wrong={wrong} change={change}
      save={() => ask("POST /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}", { under, path: { name: db.authorizer, group: name }, body: { name, groupPattern, roles } })}
    >
      <div className="form">
        <label>
          <span>Name</span>
          <input value={name} onChange={(e) => setName(e.target.value)} autoFocus />
        </label>
        <label>
          <span>Groups</span>
          <input className="mono" placeholder="cn=analysts,dc=example,dc=com or *,ou=Staff,dc=example,dc=com" value={groupPattern} onChange={(e) => setPattern(e.target.value)} />
        </label>
      </div>
      <Names label="Roles" names={roles} offered={people.roles.map((r) => r.name)} add={(r) => setRoles([...roles, r])} remove={(r) => setRoles(roles.filter((o) => o !== r))} />
    </AddDialog>
  );
}

function Show({ mapping, people, db, close }: { mapping: Mapping; people: People; db: Db; close: () => void }) {
  const change = useChange();
  const path = { name: db.authorizer, group: mapping.name };
  return (
    <Dialog title={`Mapping ${mapping.name}`} close={close}>
      <div className="stack" style={{ marginTop: 8 }}>
        <div>
          Members of <code>{mapping.groupPattern}</code> have the roles:
        </div>
        <Names
          label="Roles of the mapping" names={mapping.roles} offered={people.roles.map((r) => r.name)} busy={change.isPending}
          add={(role) => change.mutate(() => ask("POST /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}/roles/{role}", { under, path: { ...path, role } }))}
          remove={(role) => change.mutate(() => ask("DELETE /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}/roles/{role}", { under, path: { ...path, role } }))}
        />
        {change.error && <Failure error={change.error} />}
      </div>
    </Dialog>
  );
}
