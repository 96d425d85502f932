// The first step of a load: where the data are.
import { useMutation } from "@tanstack/react-query";
import { useRef, useState, type DragEvent, type FormEvent, type ReactNode } from "react";
import { bytes } from "../api/format";
import { Failure, Meter } from "../ui/parts";
import { upload } from "./ask";
import { nameOf, type Json, type Source } from "./plan";

const kinds = ["Files of this machine", "Path on the server", "URL", "S3", "Google", "Azure", "HDFS", "Text", "Input source as JSON", "Kafka", "Kinesis"] as const;
type Kind = (typeof kinds)[number];

export function ChooseSource({ done }: { done: (s: Source) => void }) {
  const [kind, setKind] = useState<Kind>("Files of this machine");
  return (
    <>
      <div className="row" role="group" aria-label="Where the data are">
        {kinds.map((k) => (
          <button key={k} aria-pressed={k === kind} onClick={() => setKind(k)}>
            {k}
          </button>
        ))}
      </div>
      {kind === "Files of this machine" ? <Files done={done} /> : <Named key={kind} kind={kind} done={done} />}
    </>
  );
}

function Files({ done }: { done: (s: Source) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const abort = useRef<AbortController>(undefined);
  const [sent, setSent] = useState({ at: 0, of: 1, name: "" });
  const [over, setOver] = useState(false);
  const send = useMutation({
    mutationFn: async (files: File[]): Promise<Source> => {
      const stop = (abort.current = new AbortController());
      const of = files.reduce((n, f) => n + f.size, 0);
      const ids: string[] = [];
      let before = 0;
      for (const f of files) {
        ids.push((await upload(f, (n) => setSent({ at: before + n, of, name: f.name }), stop.signal)).id);
        before += f.size;
      }
      const label = files.length === 1 ? files[0]!.name : `${files[0]!.name} and ${files.length - 1} more`;
      return { label, name: nameOf(files[0]!.name), wire: { type: "upload", ids } };
    },
    onSuccess: done,
  });
  const drop = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    if (e.dataTransfer.files.length > 0) send.mutate([...e.dataTransfer.files]);
  };
  return (
    <>
      <div
        className="card empty" style={{ borderStyle: "dashed", background: over ? "var(--accent-2)" : undefined }}
        onDragOver={(e) => (e.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}
      >
        <p>Drop files here: CSV, TSV, JSON, Parquet, ORC, Avro or Arrow, packed by gzip, zstd, zip and others, or not.</p>
        <input
          ref={input} type="file" multiple className="sr" tabIndex={-1} aria-label="File"
          onChange={(e) => {
            if (e.target.files && e.target.files.length > 0) send.mutate([...e.target.files]);
            e.target.value = ""; // the same file can be chosen again
          }}
        />
        <button className="primary" disabled={send.isPending} onClick={() => input.current?.click()}>
          Choose files
        </button>
      </div>
      {send.isPending && (
        <section className="card">
          <div className="row">
            <span className="grow">
              Uploading {sent.name}: {bytes(sent.at)} of {bytes(sent.of)}
            </span>
            <button onClick={() => abort.current?.abort()}>Stop</button>
          </div>
          <Meter share={sent.at / Math.max(1, sent.of)} label="Uploaded" />
        </section>
      )}
      {send.error && send.error.name !== "AbortError" && <Failure error={send.error} />}
      <p className="muted">The server keeps a file until it is loaded, and an hour at most without use. Only you can read it.</p>
    </>
  );
}

interface Entry {
  key: string;
  label: string;
  hint?: string;
  wide?: boolean;
  password?: boolean;
  optional?: boolean;
  lines?: number;
}

const lines = (text: string) => text.split(/[\n,]/).map((t) => t.trim()).filter((t) => t !== "");

/** Divides a path into the folder and the pattern of names below it. */
export function localOf(path: string): Json {
  const star = path.search(/[*?[{]/);
  if (star >= 0) {
    const cut = path.lastIndexOf("/", star);
    return { type: "local", baseDir: path.slice(0, Math.max(1, cut)), filter: path.slice(cut + 1) };
  }
  if (path.endsWith("/")) return { type: "local", baseDir: path, filter: "**" };
  return { type: "local", files: lines(path) };
}

function objects(type: string, f: Record<string, string>): Json {
  const list = lines(f.uris ?? "");
  const single = list.filter((u) => !u.endsWith("/"));
  const out: Json = { type };
  if (single.length === list.length) out.uris = single;
  else out.prefixes = list;
  if (f.glob) out.objectGlob = f.glob;
  return out;
}

interface Form {
  entries: Entry[];
  note?: ReactNode;
  source: (f: Record<string, string>) => Source;
}

const objectEntries = (scheme: string): Entry[] => [
  { key: "uris", label: "Objects or prefixes", hint: `${scheme}://bucket/folder/ or ${scheme}://bucket/file.parquet`, wide: true },
  { key: "glob", label: "Only names like", hint: "**.parquet", optional: true },
];

const forms: Record<Exclude<Kind, "Files of this machine">, Form> = {
  "Path on the server": {
    entries: [{ key: "path", label: "File, folder or pattern", hint: "/data/logs/**/*.json.gz", wide: true }],
    note: (
      <>
        A folder ends with a slash. The server reads only what <code>service.ingestion.local.allowedPaths</code> names, and not its own data directory.
      </>
    ),
    source: (f) => ({ label: f.path!, name: nameOf(f.path!), wire: localOf(f.path!) }),
  },
  URL: {
    entries: [
      { key: "uris", label: "Addresses", hint: "https://example.org/flights.csv.gz", wide: true, lines: 2 },
      { key: "user", label: "User", optional: true },
      { key: "password", label: "Password", optional: true, password: true },
    ],
    source: (f) => ({
      label: lines(f.uris!)[0] ?? "", name: nameOf(lines(f.uris!)[0] ?? ""),
      wire: { type: "http", uris: lines(f.uris!), ...(f.user ? { httpAuthenticationUsername: f.user, httpAuthenticationPassword: f.password ?? "" } : {}) },
    }),
  },
  S3: {
    entries: [
      ...objectEntries("s3"),
      { key: "endpoint", label: "Endpoint", hint: "https://minio.example.org, of a store that is not Amazon's", optional: true },
      { key: "key", label: "Access key", optional: true },
      { key: "secret", label: "Secret key", optional: true, password: true },
    ],
    note: "Without keys those of the server's machine are used.",
    source: (f) => ({
      label: f.uris!, name: nameOf(f.uris!),
      wire: {
        ...objects("s3", f),
        ...(f.endpoint ? { endpointConfig: { url: f.endpoint }, clientConfig: { enablePathStyleAccess: true } } : {}),
        ...(f.key ? { properties: { accessKeyId: f.key, secretAccessKey: f.secret ?? "" } } : {}),
      },
    }),
  },
  Google: {
    entries: [...objectEntries("gs"), { key: "key", label: "HMAC key", optional: true }, { key: "secret", label: "HMAC secret", optional: true, password: true }],
    source: (f) => ({
      label: f.uris!, name: nameOf(f.uris!),
      wire: { ...objects("google", f), ...(f.key ? { properties: { accessKeyId: f.key, secretAccessKey: f.secret ?? "" } } : {}) },
    }),
  },
  Azure: {
    entries: [...objectEntries("azureStorage"), { key: "secret", label: "Account key", optional: true, password: true }],
    source: (f) => ({ label: f.uris!, name: nameOf(f.uris!), wire: { ...objects("azureStorage", f), ...(f.secret ? { properties: { key: f.secret } } : {}) } }),
  },
  HDFS: {
    entries: [{ key: "paths", label: "Paths", hint: "hdfs://namenode:8020/logs/", wide: true }],
    source: (f) => ({ label: f.paths!, name: nameOf(f.paths!), wire: { type: "hdfs", paths: lines(f.paths!) } }),
  },
  Text: {
    entries: [{ key: "data", label: "Text", hint: "CSV, TSV or JSON", wide: true, lines: 8 }],
    source: (f) => ({ label: "Text", name: "data", wire: { type: "inline", data: f.data! } }),
  },
  "Input source as JSON": {
    entries: [{ key: "json", label: "Input source", hint: '{"type": "combining", "delegates": [..]}', wide: true, lines: 8 }],
    note: "Any input source of the documentation: also sql, combining, and those above with more settings.",
    source: (f) => {
      const wire = JSON.parse(f.json!) as Json;
      return { label: String(wire.type), name: String(wire.type), wire };
    },
  },
  Kafka: {
    entries: [
      { key: "servers", label: "Bootstrap servers", hint: "kafka:9092" },
      { key: "topic", label: "Topic" },
      { key: "more", label: "More properties of the consumer, as JSON", hint: '{"security.protocol": "SASL_SSL"}', optional: true, wide: true, lines: 2 },
    ],
    source: (f) => ({
      label: `topic ${f.topic}`, name: nameOf(f.topic!), stream: "kafka",
      wire: { topic: f.topic, consumerProperties: { "bootstrap.servers": f.servers, ...(JSON.parse(f.more || "{}") as Json) }, useEarliestOffset: true },
    }),
  },
  Kinesis: {
    entries: [
      { key: "stream", label: "Stream" },
      { key: "endpoint", label: "Endpoint", hint: "kinesis.eu-west-1.amazonaws.com" },
    ],
    source: (f) => ({
      label: `stream ${f.stream}`, name: nameOf(f.stream!), stream: "kinesis", wire: { stream: f.stream, endpoint: f.endpoint, useEarliestSequenceNumber: true },
    }),
  },
};

function Named({ kind, done }: { kind: Exclude<Kind, "Files of this machine">; done: (s: Source) => void }) {
  const form = forms[kind];
  const [values, setValues] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Error>();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    try {
      done(form.source(values));
    } catch (x) {
      setProblem(new Error(`What should be JSON is not: ${(x as Error).message}`));
    }
  };
  return (
    <form className="card" onSubmit={submit}>
      <div className="row" style={{ alignItems: "end" }}>
        {form.entries.map((e) => {
          const shared = {
            value: values[e.key] ?? "", required: !e.optional, placeholder: e.hint, "aria-label": e.label, style: { width: "100%" },
            onChange: (x: { target: { value: string } }) => setValues({ ...values, [e.key]: x.target.value }),
          };
          return (
            <label key={e.key} style={{ flex: e.wide ? "1 1 100%" : "1 1 220px" }}>
              <div>
                {e.label} {e.optional && <span className="muted">(optional)</span>}
              </div>
              {e.lines ? <textarea rows={e.lines} className="mono" {...shared} /> : <input type={e.password ? "password" : "text"} autoComplete="off" {...shared} />}
            </label>
          );
        })}
      </div>
      {form.note && <p className="muted" style={{ marginTop: 8 }}>{form.note}</p>}
      {problem && <Failure error={problem} />}
      <div className="row" style={{ marginTop: 8 }}>
        <span className="grow" />
        <button className="primary">Look at the data</button>
      </div>
    </form>
  );
}
