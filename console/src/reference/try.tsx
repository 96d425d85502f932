// A request of an operation, written by hand, and what the server says to it.
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { parse } from "../api/client";
import { json } from "../api/details";
import { bytes, count, duration } from "../api/format";
import { Confirm } from "../ui/dialog";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { addressOf, changes, curl, example, type Document, type Operation, type Values } from "./document";

const JsonEditor = lazy(() => import("../ui/json"));

interface Answer {
  status: number;
  text: string;
  ms: number;
  headers: [string, string][];
  body: string;
  size: number;
  /** The answer is longer than what is kept. */
  cut: boolean;
}

/** How much of an answer is kept: the rest is not read. */
const bodyLimit = 1 << 20;

async function send(method: string, url: string, headers: Record<string, string>, body: string | undefined, signal: AbortSignal): Promise<Answer> {
  const started = performance.now();
  const answer = await fetch(url, { method, headers, body, signal, credentials: "same-origin" });
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  let cut = false;
  for (const reader = answer.body?.getReader(); reader && !cut; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    text += decoder.decode(value, { stream: true });
    if (size > bodyLimit) {
      cut = true;
      await reader.cancel();
    }
  }
  return { status: answer.status, text: answer.statusText, ms: performance.now() - started, headers: [...answer.headers], body: text, size, cut };
}

/** Writes a body for readers: JSON with indents and exact numbers, anything else as it is. */
function shown(a: Answer): string {
  try {
    if (!a.cut && /json/.test(a.headers.find(([n]) => n === "content-type")?.[1] ?? "")) return json(parse(a.body));
  } catch {
    // Lines of JSON, or a text that breaks off.
  }
  return a.body;
}

export function TryIt({ o, d }: { o: Operation; d: Document }) {
  const types = Object.keys(o.requestBody?.content ?? {});
  const [values, setValues] = useState<Values>({ path: {}, query: {}, header: {} });
  const [type, setType] = useState(types.find((t) => t.includes("json")) ?? types[0] ?? "");
  const [body, setBody] = useState(() => {
    const content = o.requestBody?.content["application/json"];
    return content ? json(content.example ?? example(content.schema, d)) : "";
  });
  const [asking, setAsking] = useState(false);
  const [running, setRunning] = useState(false);
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState<Error>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []); // a view that is left runs nothing
  const missing = (o.parameters ?? []).filter((p) => p.required && !values[p.in][p.name]);
  const url = addressOf(o, values);
  const headers: Record<string, string> = Object.fromEntries(Object.entries(values.header).filter(([, v]) => v !== ""));
  if (type && body !== "") headers["Content-Type"] = type;
  const sent = o.requestBody && body !== "" ? body : undefined;
  const go = async () => {
    setAsking(false);
    setRunning(true);
    setProblem(undefined);
    setAnswer(undefined);
    abort.current = new AbortController();
    try {
      setAnswer(await send(o.method, url, headers, sent, abort.current.signal));
    } catch (e) {
      if (!abort.current.signal.aborted) setProblem(new Error(`The server can't be reached: ${e instanceof Error ? e.message : String(e)}`));
    }
    setRunning(false);
  };
  const set = (where: keyof Values, name: string, value: string | undefined) =>
    setValues((v) => {
      const of = { ...v[where] };
      if (value === undefined) delete of[name];
      else of[name] = value;
      return { ...v, [where]: of };
    });
  return (
    <section className="card stack" aria-label="Try it">
      <h2>Try it</h2>
      <form className="stack" onSubmit={(e) => (e.preventDefault(), changes(o) ? setAsking(true) : void go())}>
        <div className="form">
          {(o.parameters ?? []).map((p) => (
            <label key={p.in + p.name}>
              <span>
                <code>{p.name}</code>
              </span>
              {p.allowEmptyValue ? (
                <span>
                  <input type="checkbox" checked={values.query[p.name] !== undefined} onChange={(e) => set("query", p.name, e.target.checked ? "" : undefined)} />
                </span>
              ) : (
                <input value={values[p.in][p.name] ?? ""} placeholder={p.description} required={p.required} onChange={(e) => set(p.in, p.name, e.target.value)} />
              )}
            </label>
          ))}
          {types.length > 1 && (
            <label>
              <span>Content type</span>
              <select value={type} onChange={(e) => setType(e.target.value)}>
                {types.map((t) => (
                  <option key={t}>{t}</option>
                ))}
              </select>
            </label>
          )}
        </div>
        {o.requestBody &&
          (type.includes("json") ? (
            <Suspense fallback={<Skeleton lines={5} />}>
              <JsonEditor label="Request body" value={body} change={setBody} height={200} />
            </Suspense>
          ) : (
            <textarea aria-label="Request body" className="mono" rows={8} value={body} onChange={(e) => setBody(e.target.value)} />
          ))}
        <div className="row">
          <code className="grow" style={{ overflowWrap: "anywhere" }}>
            {o.method} {url}
          </code>
          <button type="button" onClick={() => void navigator.clipboard.writeText(curl(o.method, location.origin + url, headers, sent))}>
            Copy as curl
          </button>
          {running ? (
            <button type="button" className="danger" onClick={() => abort.current?.abort()}>
              Stop
            </button>
          ) : (
            <button className={changes(o) ? "danger" : "primary"} disabled={missing.length > 0}>
              Send
            </button>
          )}
        </div>
      </form>
      {running && (
        <div className="progress" role="progressbar" aria-label="The request is running">
          <span />
        </div>
      )}
      {problem && <Failure error={problem} />}
      {answer && <Shown a={answer} />}
      {asking && (
        <Confirm title={`Send ${o.method}?`} yes={`Send ${o.method}`} close={() => setAsking(false)} done={() => undefined} act={go}>
          <p>{o.summary}</p>
          <code style={{ overflowWrap: "anywhere" }}>
            {o.method} {url}
          </code>
        </Confirm>
      )}
    </section>
  );
}

function Shown({ a }: { a: Answer }) {
  const text = shown(a);
  return (
    <div className="stack" style={{ gap: 6 }}>
      <div role="status">
        <Tag kind={a.status < 300 ? "good" : a.status < 500 ? "warn" : "bad"}>
          {a.status} {a.text}
        </Tag>{" "}
        <span className="muted">
          {duration(a.ms)}, {bytes(a.size)}
          {a.cut && `; the first ${count(bodyLimit)} bytes are shown`}
        </span>
      </div>
      <details className="sql">
        <summary>{a.headers.length} headers</summary>
        <pre>{a.headers.map(([n, v]) => `${n}: ${v}`).join("\n")}</pre>
      </details>
      <pre className="code" style={{ maxHeight: 480 }} tabIndex={0} aria-label="Response body">{text || "(no body)"}</pre>
    </div>
  );
}
