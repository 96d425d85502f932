// Lookups: by tier, with what they are, which processes have them, and their values.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { address, ask } from "../api/ask";
import { ApiError, sendText } from "../api/client";
import { json } from "../api/details";
import { ident } from "../api/sql";
import type { Schemas } from "../api/types";
import { examples, nextVersion, wrong, type All, type Draft, type Lookup } from "../lookups/spec";
import { Confirm, Dialog } from "../ui/dialog";
import { List } from "../ui/list";
import { named } from "../ui/named";
import { Failure, Skeleton, Tag, View } from "../ui/parts";
import { Table, type TableColumn } from "../ui/table";
import { Panel, Tabs } from "../ui/tabs";

const JsonEditor = lazy(() => import("../ui/json"));

/** A lookup of a tier, with what is known of it. */
interface Entry {
  tier: string;
  name: string;
  spec: Lookup;
  state?: Schemas["LookupLoaded"];
  /** How many processes of the tier there are. */
  processes: number;
}

interface Seen {
  all: All;
  status: Record<string, Record<string, Schemas["LookupLoaded"]>>;
  nodes: Record<string, Record<string, Schemas["LookupState"]>>;
}

/** Asks for what is not there before the first lookup is set. */
async function orNone<T extends object>(asked: Promise<T>): Promise<T | Record<string, never>> {
  try {
    return (await asked) ?? {};
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return {};
    throw e;
  }
}

async function read(signal: AbortSignal): Promise<Seen> {
  const [all, status, nodes] = await Promise.all([
    orNone(ask("GET /service/coordinator/v1/lookups/config/all", {}, signal)),
    orNone(ask("GET /service/coordinator/v1/lookups/status", { query: { detailed: true } }, signal)),
    orNone(ask("GET /service/coordinator/v1/lookups/nodeStatus", {}, signal)),
  ]);
  return { all, status, nodes };
}

type Open = { what: "edit"; entry?: Entry } | { what: "show" | "delete"; entry: Entry };

export default function Lookups() {
  const [open, setOpen] = useState<Open>();
  const cache = useQueryClient();
  const seen = useQuery({ queryKey: ["lookups"], queryFn: ({ signal }) => read(signal), refetchInterval: 5_000 });
  const entries: Entry[] = Object.entries(seen.data?.all ?? {}).flatMap(([tier, of]) =>
    Object.entries(of).map(([name, spec]) => ({ tier, name, spec, state: seen.data?.status[tier]?.[name], processes: Object.keys(seen.data?.nodes[tier] ?? {}).length })),
  );
  const close = () => setOpen(undefined);
  const done = () => {
    close();
    void cache.invalidateQueries({ queryKey: ["lookups"] });
  };
  const columns: TableColumn<Entry>[] = [
    { title: "Name", text: (e) => e.name, cell: (e) => <button className="plain" onClick={() => setOpen({ what: "show", entry: e })}>{e.name}</button> },
    { title: "Tier", text: (e) => e.tier, cell: (e) => e.tier },
    { title: "Type", text: typeOf, cell: typeOf },
    { title: "Version", text: (e) => e.spec.version ?? "", cell: (e) => e.spec.version ?? <span className="muted">none</span> },
    { title: "Loaded", text: (e) => (e.state?.loaded ? "yes" : "no"), cell: (e) => <State entry={e} /> },
    {
      title: "Actions",
      fixed: true,
      cell: (e) => (
        <span className="row" style={{ flexWrap: "nowrap" }}>
          <button aria-label={`Edit ${e.name}`} onClick={() => setOpen({ what: "edit", entry: e })}>Edit</button>
          <button className="danger" aria-label={`Delete ${e.name}`} onClick={() => setOpen({ what: "delete", entry: e })}>Delete</button>
        </span>
      ),
    },
  ];
  return (
    <View title="Lookups">
      {seen.error && <Failure error={named(seen.error, "READ CONFIG CONFIG")} retry={() => void seen.refetch()} />}
      {seen.isPending && <Skeleton lines={6} />}
      {seen.data && (
        <Table<Entry>
          name="Lookups" rows={entries} columns={columns} id={(e) => `${e.tier}\0${e.name}`} find="Find by name, tier or type"
          empty="No lookups yet. A lookup maps values to other values, such as codes to names: LOOKUP(code, 'country') in SQL."
          actions={<button className="primary" onClick={() => setOpen({ what: "edit" })}>New lookup</button>}
        />
      )}
      {open?.what === "edit" && <Edit entry={open.entry} tiers={Object.keys(seen.data?.all ?? {})} taken={entries} close={close} done={done} />}
      {open?.what === "show" && <Show entry={open.entry} seen={seen.data} close={close} />}
      {open?.what === "delete" && (
        <Confirm
          title={`Delete lookup ${open.entry.name}`} yes="Delete" close={close} done={done}
          act={() => ask("DELETE /service/coordinator/v1/lookups/config/{tier}/{lookup}", { path: { tier: open.entry.tier, lookup: open.entry.name } })}
        >
          Queries that use <b>{open.entry.name}</b> of tier {open.entry.tier} fail when processes have dropped it.
        </Confirm>
      )}
    </View>
  );
}

function typeOf(e: Entry): string {
  const factory = e.spec.lookupExtractorFactory as { type?: unknown; extractionNamespace?: { type?: unknown } } | undefined;
  return [factory?.type, factory?.extractionNamespace?.type].filter((t) => typeof t === "string").join(", ");
}

function State({ entry }: { entry: Entry }) {
  if (!entry.state) return <Tag kind="warn">not sent yet</Tag>;
  if (entry.processes === 0) return <Tag kind="warn">no process has the tier</Tag>;
  if (entry.state.loaded) return <Tag kind="good">everywhere</Tag>;
  const n = entry.state.pendingNodes?.length ?? 0;
  return <Tag kind="warn">{n === 0 ? "nowhere" : n === 1 ? "missing on one process" : `${n} processes do not have it`}</Tag>;
}

function Edit({ entry, tiers, taken, close, done }: { entry?: Entry; tiers: string[]; taken: Entry[]; close: () => void; done: () => void }) {
  const [draft, setDraft] = useState<Draft>(() => ({
    tier: entry?.tier ?? "__default", name: entry?.name ?? "", version: nextVersion(entry?.spec.version, new Date()),
    text: json(entry?.spec.lookupExtractorFactory ?? examples.map),
  }));
  const [problem, setProblem] = useState<Error>();
  const [sending, setSending] = useState(false);
  const there = taken.find((t) => t.tier === draft.tier && t.name === draft.name);
  const fault = wrong(draft, entry?.spec) ?? (!entry && there ? `Lookup ${draft.name} is there already: edit it.` : undefined);
  const change = (d: Partial<Draft>) => setDraft((now) => ({ ...now, ...d }));
  const save = async () => {
    setSending(true);
    setProblem(undefined);
    try {
      const to = address("POST /service/coordinator/v1/lookups/config/{tier}/{lookup}", { path: { tier: draft.tier, lookup: draft.name } });
      // The text is sent as it was written: numbers stay as long as they are.
      await sendText("POST", to, { type: "application/json", text: `{"version":${JSON.stringify(draft.version)},"lookupExtractorFactory":${draft.text}}` });
      done();
    } catch (e) {
      setProblem(e instanceof Error ? e : new Error(String(e)));
      setSending(false);
    }
  };
  return (
    <Dialog title={entry ? `Lookup ${entry.name}` : "New lookup"} close={close} width={760}>
      <form className="stack" style={{ marginTop: 8 }} onSubmit={(e) => (e.preventDefault(), void (fault === undefined && save()))}>
        <div className="form">
          <label>
            <span>Name</span>
            <input value={draft.name} onChange={(e) => change({ name: e.target.value })} readOnly={!!entry} autoFocus={!entry} />
          </label>
          <label>
            <span>Tier</span>
            <input value={draft.tier} onChange={(e) => change({ tier: e.target.value })} readOnly={!!entry} list="lookup-tiers" />
          </label>
          <label>
            <span>Version</span>
            <input value={draft.version} onChange={(e) => change({ version: e.target.value })} autoFocus={!!entry} />
          </label>
        </div>
        <datalist id="lookup-tiers">
          {tiers.map((t) => (
            <option key={t} value={t} />
          ))}
        </datalist>
        {!entry && (
          <div className="row" role="group" aria-label="Start from">
            <span className="muted">Start from</span>
            {Object.entries(examples).map(([name, spec]) => (
              <button key={name} type="button" onClick={() => change({ text: JSON.stringify(spec, undefined, 2) })}>
                {name}
              </button>
            ))}
          </div>
        )}
        <Suspense fallback={<Skeleton lines={6} />}>
          <JsonEditor label="Specification" value={draft.text} change={(text) => change({ text })} height={260} />
        </Suspense>
        {problem && <Failure error={named(problem, "WRITE CONFIG CONFIG")} />}
        <div className="row">
          <span className="grow bad" role="status">{fault}</span>
          <button className="primary" disabled={fault !== undefined || sending}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const parts = ["Values", "Specification", "Processes"] as const;

function Show({ entry, seen, close }: { entry: Entry; seen: Seen | undefined; close: () => void }) {
  const [at, setAt] = useState<(typeof parts)[number]>("Values");
  return (
    <Dialog title={`Lookup ${entry.name}`} close={close} width={900}>
      <div className="stack" style={{ marginTop: 8 }}>
        <Tabs label="Parts of the lookup" tabs={parts} at={at} choose={setAt} />
        <Panel label={at}>
          {at === "Values" && <Values name={entry.name} />}
          {at === "Specification" && <pre className="code" tabIndex={0}>{json(entry.spec)}</pre>}
          {at === "Processes" && <Processes entry={entry} seen={seen} />}
        </Panel>
      </div>
    </Dialog>
  );
}

/** The entries that the Broker has, a page at a time. */
function Values({ name }: { name: string }) {
  return (
    <List<{ k: string; v: string | null }>
      name={`Values of ${name}`} from={`SELECT k, v FROM lookup.${ident(name)}`} filter="k" filterLabel="Find by key" order={{ column: "k", down: false }}
      columns={[{ name: "k", title: "Key" }, { name: "v", title: "Value" }]} empty="The lookup has no entries."
    />
  );
}

interface Process {
  node: string;
  version?: string;
  state: "loaded" | "older" | "not loaded" | "being dropped";
}

function processesOf(entry: Entry, seen: Seen | undefined): Process[] {
  return Object.entries(seen?.nodes[entry.tier] ?? {}).map(([node, s]) => {
    const version = (s.current?.[entry.name] as Lookup | undefined)?.version ?? undefined;
    const state = s.toDrop?.includes(entry.name) ? "being dropped" : !(entry.name in (s.current ?? {})) ? "not loaded" : version === (entry.spec.version ?? undefined) ? "loaded" : "older";
    return { node, version, state };
  });
}

function Processes({ entry, seen }: { entry: Entry; seen: Seen | undefined }) {
  return (
    <Table<Process>
      name="Processes" rows={processesOf(entry, seen)} id={(p) => p.node}
      empty={`No process of tier ${entry.tier} has announced itself.`}
      columns={[
        { title: "Process", text: (p) => p.node, cell: (p) => <code>{p.node}</code> },
        { title: "State", text: (p) => p.state, cell: (p) => <Tag kind={p.state === "loaded" ? "good" : "warn"}>{p.state}</Tag> },
        { title: "Version", text: (p) => p.version ?? "", cell: (p) => p.version ?? "" },
      ]}
    />
  );
}
