// API: the interface of the server as its own document tells it, and requests to try it.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useSearch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { call } from "../api/client";
import { json } from "../api/details";
import { count } from "../api/format";
import { go } from "../go";
import { fits, operationsOf, responseOf, sketch, type Content, type Document, type Operation, type Response } from "../reference/document";
import { TryIt } from "../reference/try";
import { Failure, Skeleton, Tag, View } from "../ui/parts";

export default function Api() {
  const document = useQuery({ queryKey: ["openapi"], queryFn: ({ signal }) => call<Document>("GET", "/service/openapi.json", undefined, signal), staleTime: Infinity });
  return (
    <View title="API" actions={<a href="/service/openapi.json" download="openapi.json">openapi.json</a>}>
      {document.error && <Failure error={document.error} retry={() => void document.refetch()} />}
      {document.isPending && <Skeleton lines={10} />}
      {document.data && <Reference d={document.data} />}
    </View>
  );
}

function Reference({ d }: { d: Document }) {
  const [path] = useHashLocation();
  const search = useSearch();
  const id = new URLSearchParams(path.split("?")[1] ?? search).get("operation");
  const [text, setText] = useState("");
  const [internal, setInternal] = useState(false);
  const all = useMemo(() => operationsOf(d), [d]);
  const shown = all.filter((o) => (internal || !o["x-internal"]) && fits(o, text));
  const chosen = all.find((o) => o.operationId === id);
  const choose = (o: Operation) => go(`/api?operation=${encodeURIComponent(o.operationId)}`);
  return (
    <div className="side broad">
      <aside className="stack" aria-label="Operations">
        <input type="search" aria-label="Find an operation" placeholder="Find an operation" value={text} onChange={(e) => setText(e.target.value)} style={{ minWidth: 0 }} />
        <label>
          <input type="checkbox" checked={internal} onChange={(e) => setInternal(e.target.checked)} /> Internal endpoints
        </label>
        <div className="muted" role="status">
          {count(shown.length)} operations
        </div>
        <nav className="operations" aria-label="Operations by family" tabIndex={0}>
          {d.tags.map(({ name }) => {
            const of = shown.filter((o) => o.tags[0] === name);
            return of.length === 0 ? null : (
              <details key={name} open={text !== "" || of.includes(chosen as Operation)}>
                <summary>
                  {name} <span className="muted">{of.length}</span>
                </summary>
                {of.map((o) => (
                  <button key={o.operationId} className="plain" aria-current={o === chosen ? "true" : undefined} title={o.summary} onClick={() => choose(o)}>
                    <Method name={o.method} /> {o.path}
                  </button>
                ))}
              </details>
            );
          })}
        </nav>
      </aside>
      {chosen ? <Description key={chosen.operationId} o={chosen} d={d} /> : <div className="empty">Select an operation to see its parameters and responses, and to try it.</div>}
    </div>
  );
}

function Method({ name }: { name: string }) {
  return <span className={`method ${name === "GET" ? "good" : name === "DELETE" ? "bad" : "warn"}`}>{name}</span>;
}

function Description({ o, d }: { o: Operation; d: Document }) {
  const statuses = Object.entries(o.responses).sort(([a], [b]) => a.localeCompare(b));
  const own = statuses.filter(([, r]) => !r.$ref);
  const refused = statuses.filter(([, r]) => r.$ref).map(([status]) => status);
  const isError = (r: Response) => r.content?.["application/json"]?.schema?.$ref?.endsWith("/Error");
  return (
    <article className="stack" aria-label={`${o.method} ${o.path}`}>
      <h2 style={{ overflowWrap: "anywhere" }}>
        <Method name={o.method} /> <code>{o.path}</code>
      </h2>
      <p style={{ margin: 0 }}>{o.summary}</p>
      <p style={{ margin: 0 }} className="muted">
        Permission, if security is configured: {o["x-permission"] ?? "nothing"}.
      </p>
      {o.parameters && (
        <section aria-label="Parameters">
          <h2>Parameters</h2>
          <div className="scroll" tabIndex={0} role="region" aria-label="Parameters of the operation">
            <table className="list">
              <thead>
                <tr>
                  {["Name", "In", "Type", "Meaning"].map((t) => (
                    <th key={t}>
                      <span>{t}</span>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {o.parameters.map((p) => (
                  <tr key={p.in + p.name}>
                    <td>
                      <code>{p.name}</code> {p.required && <Tag>required</Tag>}
                    </td>
                    <td>{p.in}</td>
                    <td>{p.allowEmptyValue ? "flag" : sketch(p.schema, d)}</td>
                    <td>{p.description}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
      {o.requestBody && (
        <section aria-label="Body">
          <h2>Body{o.requestBody.required ? "" : " (optional)"}</h2>
          <Contents content={o.requestBody.content} d={d} />
        </section>
      )}
      <section aria-label="Answers">
        <h2>Responses</h2>
        {own.map(([status, r]) => {
          const response = responseOf(r, d);
          return (
            <div key={status} className="stack" style={{ marginBottom: 8, gap: 4 }}>
              <div>
                <Tag kind={status.startsWith("2") ? "good" : "warn"}>{status}</Tag> {response.description}
                {response.headers && <span className="muted">; headers {Object.keys(response.headers).join(", ")}</span>}
              </div>
              {!isError(response) && <Contents content={response.content} d={d} />}
            </div>
          );
        })}
        {refused.length > 0 && <p className="muted">Errors: {refused.join(", ")}, with the reason as JSON.</p>}
      </section>
      <TryIt o={o} d={d} />
    </article>
  );
}

function Contents({ content, d }: { content: Record<string, Content> | undefined; d: Document }) {
  if (!content) return null;
  return Object.entries(content).map(([type, of]) => (
    <div key={type}>
      <div className="muted">{type}</div>
      <pre className="code" tabIndex={0}>{sketch(of.schema, d)}</pre>
      {of.example !== undefined && (
        <>
          <div className="muted">Example</div>
          <pre className="code" tabIndex={0}>{json(of.example)}</pre>
        </>
      )}
    </div>
  ));
}
