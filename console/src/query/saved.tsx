// Saved queries on the server: to find, open, share, and to save what is in the editor.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { ask } from "../api/ask";
import { call } from "../api/client";
import { ago, count } from "../api/format";
import type { Schemas } from "../api/types";
import { Dialog } from "../ui/dialog";
import { Failure, Skeleton, Tag } from "../ui/parts";
import type { Tab } from "./tabs";

export type SavedQuery = Schemas["SavedQuery"];

/** What is kept of a tab beside its text. */
export interface KeptView {
  engine?: Tab["engine"];
  shown?: Tab["shown"];
  chart?: Tab["chart"];
  zone?: string;
}

interface Props {
  tab: Tab;
  zone: string;
  take: (q: SavedQuery) => void;
  saved: (q: SavedQuery) => void;
  close: () => void;
}

export function linkTo(id: string): string {
  return `${location.origin}${location.pathname}#/q/${id}`;
}

export default function Saved({ tab, zone, take, saved, close }: Props) {
  const [text, setText] = useState("");
  const [copied, setCopied] = useState("");
  const wanted = useDeferredValue(text);
  const client = useQueryClient();
  const list = useQuery({
    queryKey: ["saved", wanted],
    queryFn: ({ signal }) => ask("GET /service-ext/console/queries", { query: { text: wanted, limit: 200 } }, signal),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const again = () => void client.invalidateQueries({ queryKey: ["saved"] });
  const remove = useMutation({ mutationFn: (id: string) => call("DELETE", `/service-ext/console/queries/${encodeURIComponent(id)}`), onSuccess: again });
  return (
    <Dialog title="Saved queries" close={close} width={760}>
      <div className="stack" style={{ marginTop: 12 }}>
        <Save tab={tab} zone={zone} saved={(q) => (saved(q), again())} />
        <input type="search" aria-label="Find by name" placeholder="Find by name" value={text} onChange={(e) => setText(e.target.value)} />
        {list.error && <Failure error={list.error} retry={() => void list.refetch()} />}
        {remove.error && <Failure error={remove.error} />}
        {list.isPending && <Skeleton lines={4} />}
        {list.data?.queries.length === 0 && <div className="empty">{text === "" ? "No saved queries yet." : `No name contains "${text}".`}</div>}
        {list.data && list.data.queries.length > 0 && (
          <div className="scroll" style={{ maxHeight: "45vh" }} tabIndex={0} role="region" aria-label="Queries that are saved">
            <table className="list">
              <tbody>
                {list.data.queries.map((q) => (
                  <tr key={q.id}>
                    <td>
                      <button className="plain" onClick={() => take(q)}>{q.name}</button> {q.shared && <Tag>shared</Tag>}
                      <div className="muted mono">{q.statement.replace(/\s+/g, " ").slice(0, 160)}</div>
                    </td>
                    <td className="muted fixed">{!q.own && `${q.owner}, `}{ago(q.updated)}</td>
                    <td className="fixed">
                      <button
                        onClick={() => void navigator.clipboard.writeText(linkTo(q.id)).then(() => setCopied(q.id))}
                      >
                        {copied === q.id ? "Copied" : "Link"}
                      </button>{" "}
                      {q.own && <button className="danger" aria-label={`Delete ${q.name}`} onClick={() => confirm(`Delete the saved query "${q.name}"?`) && remove.mutate(q.id)}>Delete</button>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {list.data && list.data.total > list.data.queries.length && <p className="muted">{count(list.data.total)} queries are saved; a part of a name finds the others.</p>}
      </div>
    </Dialog>
  );
}

/** Saves the text of the tab: over the query that it is of, or as a new one. */
function Save({ tab, zone, saved }: { tab: Tab; zone: string; saved: (q: SavedQuery) => void }) {
  const mine = tab.saved?.own ? tab.saved : undefined;
  const [name, setName] = useState(tab.name);
  const [shared, setShared] = useState(mine?.shared ?? false);
  const view: KeptView = { engine: tab.engine, shown: tab.shown, chart: tab.chart, zone };
  const body = { name, statement: tab.text, view: view as Record<string, unknown>, shared };
  const save = useMutation({
    mutationFn: (over: boolean) =>
      over && mine
        ? ask("PUT /service-ext/console/queries/{id}", { path: { id: mine.id }, body: { ...body, version: mine.version } })
        : ask("POST /service-ext/console/queries", { body }),
    onSuccess: saved,
  });
  const empty = name.trim() === "" || tab.text.trim() === "";
  return (
    <form
      className="stack" aria-label="Save this query"
      onSubmit={(e) => {
        e.preventDefault();
        if (!empty) save.mutate(mine !== undefined);
      }}
    >
      <div className="row">
        <input className="grow" aria-label="Name" maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />
        <label><input type="checkbox" checked={shared} onChange={(e) => setShared(e.target.checked)} /> Shared</label>
        <button className="primary" type="submit" disabled={empty || save.isPending}>{mine ? "Save changes" : "Save"}</button>
        {mine && <button type="button" disabled={empty || save.isPending} onClick={() => save.mutate(false)}>Save as new</button>}
      </div>
      {save.error && <Failure error={save.error} />}
      {save.data && <div className="good" role="status">Saved. Its link: <a href={linkTo(save.data.id)}>{linkTo(save.data.id)}</a></div>}
    </form>
  );
}
