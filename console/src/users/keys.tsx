// API keys: made, replaced and revoked. A secret is seen once.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask } from "../api/ask";
import { ApiError } from "../api/client";
import { ago, instant } from "../api/format";
import { useSettings } from "../settings";
import { Confirm, Dialog } from "../ui/dialog";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { Table, type TableColumn } from "../ui/table";
import { useChange, type Key } from "./data";
import { named } from "../ui/named";

type Open = { what: "add" } | { what: "secret" | "revoke" | "rotate"; key: Key };

export default function Keys() {
  const { zone } = useSettings();
  const [open, setOpen] = useState<Open>();
  const keys = useQuery({ queryKey: ["users", "keys"], queryFn: ({ signal }) => ask("GET /service-ext/access/keys", {}, signal) });
  const close = () => setOpen(undefined);
  if (keys.error instanceof ApiError && keys.error.status === 404) {
    return (
      <div className="empty">
        API keys are not switched on: put an authenticator of type <code>keys</code> in front of the chain, as docs/security.md says.
      </div>
    );
  }
  if (keys.error) return <Failure error={named(keys.error, "READ CONFIG security")} retry={() => void keys.refetch()} />;
  if (!keys.data) return <Skeleton lines={4} />;
  const columns: TableColumn<Key>[] = [
    { title: "Key", fixed: true, text: (k) => k.id, cell: (k) => <code>{`hg_${k.id}`}</code> },
    { title: "For", text: (k) => k.description, cell: (k) => k.description },
    { title: "Roles", text: (k) => k.roles.join(" "), cell: (k) => k.roles.map((r) => <span key={r}><Tag>{r}</Tag> </span>) },
    { title: "From", fixed: true, text: (k) => k.networks.join(" "), cell: (k) => (k.networks.length === 0 ? <span className="muted">anywhere</span> : k.networks.map((n) => <div key={n}>{n}</div>)) },
    { title: "Created by", text: (k) => k.createdBy, cell: (k) => k.createdBy },
    { title: "Last used", text: (k) => k.lastUsed ?? "", cell: (k) => (k.lastUsed ? ago(k.lastUsed) : <span className="muted">never</span>) },
    {
      title: "Ends",
      text: (k) => k.expires ?? "",
      cell: (k) => (k.expired ? <Tag kind="bad">has expired</Tag> : k.expires ? instant(k.expires, zone) : <span className="muted">never</span>),
    },
    {
      title: "Actions",
      fixed: true,
      cell: (k) => (
        <span className="row" style={{ flexWrap: "nowrap" }}>
          <button aria-label={`Replace ${k.id}`} onClick={() => setOpen({ what: "rotate", key: k })}>Replace</button>
          <button className="danger" aria-label={`Revoke ${k.id}`} onClick={() => setOpen({ what: "revoke", key: k })}>Revoke</button>
        </span>
      ),
    },
  ];
  return (
    <>
      <Table<Key>
        name="API keys" rows={keys.data} columns={columns} id={(k) => k.id} find="Search by id, purpose or role" empty="No keys yet. Programs log in with keys, each with its own roles."
        actions={<button className="primary" onClick={() => setOpen({ what: "add" })}>New key</button>}
      />
      {open?.what === "add" && <Add close={close} then={(key) => setOpen({ what: "secret", key })} />}
      {open?.what === "rotate" && <Rotate old={open.key} close={close} then={(key) => setOpen({ what: "secret", key })} />}
      {open?.what === "secret" && <Secret of={open.key} close={close} />}
      {open?.what === "revoke" && (
        <Confirm title={`Revoke key hg_${open.key.id}`} yes="Revoke" close={close} done={close} reads="users" act={() => ask("DELETE /service-ext/access/keys/{id}", { path: { id: open.key.id } })}>
          {open.key.description && <p>{open.key.description}</p>}
          Programs that use it are rejected from the next request on.
        </Confirm>
      )}
    </>
  );
}

/** Reads names that are written with commas or blanks between them. */
function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((w) => w !== "");
}

function Add({ close, then }: { close: () => void; then: (key: Key) => void }) {
  const [description, setDescription] = useState("");
  const [roles, setRoles] = useState("");
  const [networks, setNetworks] = useState("");
  const [lifetime, setLifetime] = useState("P90D");
  const change = useChange();
  // Roles may have blanks in their names: one stands on a line.
  const names = roles.split("\n").map((r) => r.trim()).filter((r) => r !== "");
  const save = async () =>
    then(
      await ask("POST /service-ext/access/keys", {
        body: { description, roles: names, networks: words(networks), ...(lifetime.trim() === "" ? {} : { lifetime: lifetime.trim() }) },
      }),
    );
  return (
    <Dialog title="New API key" close={close}>
      <form className="stack" style={{ marginTop: 8 }} onSubmit={(e) => (e.preventDefault(), names.length > 0 && change.mutate(save))}>
        <div className="form">
          <label>
            <span>For</span>
            <input value={description} placeholder="nightly load" onChange={(e) => setDescription(e.target.value)} autoFocus />
          </label>
          <label>
            <span>Roles</span>
            <textarea rows={2} value={roles} placeholder="one a line" onChange={(e) => setRoles(e.target.value)} />
          </label>
          <label>
            <span>Networks</span>
            <input className="mono" value={networks} placeholder="anywhere; or 10.1.0.0/16, 192.0.2.7/32" onChange={(e) => setNetworks(e.target.value)} />
          </label>
          <label>
            <span>Lasts</span>
            <input className="mono" value={lifetime} placeholder="unlimited, or a period: P90D, PT12H" onChange={(e) => setLifetime(e.target.value)} />
          </label>
        </div>
        {change.error && <Failure error={named(change.error, "WRITE CONFIG security")} />}
        <div className="row">
          <span className="grow bad" role="status">{names.length === 0 && "A key needs a role."}</span>
          <button className="primary" disabled={names.length === 0 || change.isPending}>
            Create key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Rotate({ old, close, then }: { old: Key; close: () => void; then: (key: Key) => void }) {
  const [overlap, setOverlap] = useState("PT1H");
  const change = useChange();
  const save = async () => then(await ask("POST /service-ext/access/keys/{id}/rotate", { path: { id: old.id }, body: overlap.trim() === "" ? {} : { overlap: overlap.trim() } }));
  return (
    <Dialog title={`Replace the secret of hg_${old.id}`} close={close}>
      <form className="stack" style={{ marginTop: 8 }} onSubmit={(e) => (e.preventDefault(), change.mutate(save))}>
        <div className="form">
          <label>
            <span>The old secret stays valid for</span>
            <input className="mono" value={overlap} placeholder="no longer; or a period: PT1H" onChange={(e) => setOverlap(e.target.value)} autoFocus />
          </label>
        </div>
        {change.error && <Failure error={named(change.error, "WRITE CONFIG security")} />}
        <div className="row">
          <span className="grow" />
          <button className="primary" disabled={change.isPending}>
            Create secret
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Secret({ of, close }: { of: Key; close: () => void }) {
  const [copied, setCopied] = useState(false);
  return (
    <Dialog title={`The secret of hg_${of.id}`} close={close}>
      <div className="stack" style={{ marginTop: 8 }}>
        <p style={{ margin: 0 }}>Copy it now: it is not shown again. Store it where your program reads it.</p>
        <pre className="code" tabIndex={0} aria-label="Secret">{of.key}</pre>
        <div className="row">
          <span className="grow muted">
            Sent as <code>Authorization: Bearer</code>, or as the password of any user.
          </span>
          <button className="primary" onClick={() => void navigator.clipboard.writeText(of.key ?? "").then(() => setCopied(true))}>
            {copied ? "Copied" : "Copy"}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
