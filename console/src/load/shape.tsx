// The second step of a load: what the data are. Format, time, columns and filters, with a preview
// of the rows as the server would keep them.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { count } from "../api/format";
import { Failure, Skeleton } from "../ui/parts";
import { sample, survey, type Said, type Sample, type Survey } from "./ask";
import { fieldsOf, isNumber, keptOf, operators, roles, samplerOf, schemaOf, typeName, types, type Edit, type Json, type Plan } from "./plan";

export const previewRows = 500;

/** Waits until a value has not changed for a moment. */
function useSettled<T>(value: T): T {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState({ text, value });
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ text, value }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return settled.value;
}

/** A sample with the plan that it is of: while a newer one is on its way it still shows. */
export type Previewed = Sample & { plan: Plan };

/** The rows that the server would make of the first records. */
export function usePreview(p: Plan) {
  const plan = useSettled(p);
  const body = samplerOf(plan, previewRows);
  return useQuery({
    queryKey: ["load", "preview", body], placeholderData: keepPreviousData, retry: false,
    queryFn: async ({ signal }): Promise<Previewed> => ({ ...(await sample(body, signal)), plan }),
  });
}

/** What the plan says of the input beside what its values do. */
export function saidOf(p: Plan): Said {
  const of: Record<string, string> = {};
  for (const f of p.fields) if (p.edits[f.name]?.type) of[f.name] = p.edits[f.name]!.type!;
  const said: Said = { types: of };
  if (p.time.column === "") said.noTime = true;
  else if (p.fields.some((f) => f.name === p.time.column)) {
    said.time = p.time.column;
    if (p.time.format !== "") said.timeFormat = p.time.format;
  }
  if (p.format?.type === "csv" || p.format?.type === "tsv") {
    said.header = p.format.findColumnsFromHeader === true;
    if (p.format.delimiter) said.delimiter = String(p.format.delimiter);
    else said.delimiter = p.format.type === "tsv" ? "\t" : ",";
  }
  return said;
}

/** Looks at all values again when types or the time were changed. */
export function useCheck(p: Plan, files: boolean) {
  const said = useSettled(saidOf(p));
  return useQuery({
    queryKey: ["load", "check", p.source.wire, said], enabled: files, queryFn: ({ signal }) => survey(p.source.wire, said, signal), placeholderData: keepPreviousData, retry: false,
  });
}

interface Props {
  plan: Plan;
  change: (p: Partial<Plan>) => void;
  found?: Survey;
  again: (said: Partial<Said>) => void;
  reformat: (format: Json) => void;
  preview: { data?: Previewed; error: Error | null; isFetching: boolean };
  check: { data?: Survey; error: Error | null };
}

export function Shape({ plan: p, change, found, again, reformat, preview, check }: Props) {
  return (
    <>
      <section className="card stack">
        <h2 style={{ overflowWrap: "anywhere" }}>{p.source.label}</h2>
        {found && (
          <p style={{ margin: 0 }}>
            {found.kind}, {counted(p.fields.length, "column")}, {counted(found.records ?? 0, "record")}
            {found.whole ? "" : " read to find the types; there are more"}
            {(found.files ?? 1) > 1 && ` in ${count(found.files!)} files`}
          </p>
        )}
        <Told found={check.data ?? found} />
        <Format plan={p} found={found} again={again} reformat={reformat} />
        <TimeOf plan={p} change={change} />
        <Nested plan={p} change={change} />
        <Filters plan={p} change={change} />
        <div className="row">
          <label>
            <input type="checkbox" checked={p.rollup} onChange={(e) => change({ rollup: e.target.checked })} /> Roll up: rows with the same dimensions become one
          </label>
          <label>
            Times{" "}
            <select aria-label="Times are cut to" value={p.queryGranularity} onChange={(e) => change({ queryGranularity: e.target.value })}>
              {[["", "as they are"], ["PT1S", "by second"], ["PT1M", "by minute"], ["PT1H", "by hour"], ["P1D", "by day"]].map(([v, t]) => (
                <option key={v} value={v}>
                  {t}
                </option>
              ))}
            </select>
          </label>
        </div>
      </section>
      {check.error && <Failure error={check.error} />}
      <Columns plan={p} change={change} />
      <Preview preview={preview} />
    </>
  );
}

/** What is to be known of the input. */
function Told({ found }: { found?: Survey }) {
  if (!found) return null;
  const bad = found.unreadable ?? 0;
  const problems = [...(found.problems ?? []), ...(bad > 0 ? [`${counted(bad, "record")} can't be read; ${found.firstUnreadable ?? ""}`] : [])];
  const untimed = found.untimed ?? 0;
  return (
    <>
      {untimed > 0 && <p className="warn">{counted(untimed, "record")} without a time: left out.</p>}
      {problems.length > 0 && (
        <div role="note" aria-label="Problems">
          <p className="bad">Loaded as it is, this would be changed or lost:</p>
          <ul>
            {problems.map((t) => (
              <li key={t}>{t}</li>
            ))}
          </ul>
        </div>
      )}
      {(found.notes ?? []).map((n) => (
        <p key={n} className="muted">
          {n}
        </p>
      ))}
    </>
  );
}

/** A number with its noun. */
function counted(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

const delimiters = [[",", "comma"], [";", "semicolon"], ["\t", "tab"], ["|", "bar"], [" ", "space"]] as const;

function Format({ plan: p, found, again, reformat }: { plan: Plan; found?: Survey; again: (said: Partial<Said>) => void; reformat: (format: Json) => void }) {
  const [text, setText] = useState<string>();
  const [problem, setProblem] = useState("");
  if (!p.format) return null;
  const delimited = found && (p.format.type === "csv" || p.format.type === "tsv");
  const apply = () => {
    try {
      reformat(JSON.parse(text!) as Json);
      setText(undefined);
      setProblem("");
    } catch (e) {
      setProblem((e as Error).message);
    }
  };
  return (
    <div className="row">
      {delimited && (
        <>
          <label>
            <input type="checkbox" checked={found.header ?? false} onChange={(e) => again({ header: e.target.checked })} /> The first row has the names
          </label>
          <label>
            Fields end at{" "}
            <select value={saidOf(p).delimiter} onChange={(e) => again({ delimiter: e.target.value })}>
              {delimiters.map(([v, t]) => (
                <option key={v} value={v}>
                  {t}
                </option>
              ))}
              {!delimiters.some(([v]) => v === saidOf(p).delimiter) && <option>{saidOf(p).delimiter}</option>}
            </select>
          </label>
        </>
      )}
      <details onToggle={(e) => setText(e.currentTarget.open ? JSON.stringify(p.format, null, 2) : undefined)}>
        <summary>Format: {String(p.format.type)}</summary>
        <textarea aria-label="Input format" className="mono" rows={5} style={{ width: "min(560px, 80vw)" }} value={text ?? ""} onChange={(e) => setText(e.target.value)} />
        {problem && <p className="bad">{problem}</p>}
        <div>
          <button onClick={apply}>Use this format</button>
        </div>
      </details>
    </div>
  );
}

const timeFormats = [["iso", "ISO 8601"], ["millis", "milliseconds"], ["posix", "seconds"], ["micro", "microseconds"], ["nano", "nanoseconds"]] as const;

function TimeOf({ plan: p, change }: { plan: Plan; change: (p: Partial<Plan>) => void }) {
  const { column, format } = p.time;
  const known = timeFormats.some(([v]) => v === format);
  const set = (time: Plan["time"]) => change({ time, untimed: 0, keepTime: false });
  return (
    <div className="row">
      <label>
        Time{" "}
        <select value={column} onChange={(e) => set({ column: e.target.value, format: e.target.value === "" ? "iso" : "" })}>
          <option value="">no column: all rows are of 1970</option>
          {fieldsOf(p).map((f) => (
            <option key={f.name}>{f.name}</option>
          ))}
        </select>
      </label>
      {column !== "" && (
        <label>
          written as{" "}
          <select aria-label="How the time is written" value={format === "" ? "" : known ? format : "pattern"} onChange={(e) => set({ column, format: e.target.value === "pattern" ? "yyyy-MM-dd HH:mm:ss" : e.target.value })}>
            <option value="">found by the values</option>
            {timeFormats.map(([v, t]) => (
              <option key={v} value={v}>
                {t}
              </option>
            ))}
            <option value="pattern">a pattern</option>
          </select>
        </label>
      )}
      {column !== "" && format !== "" && !known && <input aria-label="Pattern of the time" className="mono" value={format} onChange={(e) => set({ column, format: e.target.value || "y" })} />}
    </div>
  );
}

function List<T>({ title, add, items, change, make, children }: { title: string; add: string; items: T[]; change: (items: T[]) => void; make: () => T; children: (item: T, set: (x: Partial<T>) => void) => ReactNode }) {
  return (
    <div role="group" aria-label={title}>
      {items.map((item, i) => (
        <div className="row" key={i} style={{ marginBottom: 4 }}>
          {children(item, (x) => change(items.map((o, j) => (j === i ? { ...o, ...x } : o))))}
          <button aria-label={`Remove ${title.toLowerCase()} ${i + 1}`} onClick={() => change(items.filter((_, j) => j !== i))}>
            Remove
          </button>
        </div>
      ))}
      <button onClick={() => change([...items, make()])}>{add}</button>
    </div>
  );
}

const flattens = new Set(["json", "parquet", "orc", "avro_ocf", "avro_stream", "protobuf", "arrow"]);

function Nested({ plan: p, change }: { plan: Plan; change: (p: Partial<Plan>) => void }) {
  if (!p.format || !flattens.has(String(p.format.type))) return null;
  return (
    <List title="Path" add="Add a column from nested data" items={p.flattened} change={(flattened) => change({ flattened })} make={() => ({ name: "", path: "$.", type: "VARCHAR" })}>
      {(f, set) => (
        <>
          <input aria-label="Name of the column" placeholder="name" value={f.name} onChange={(e) => set({ name: e.target.value })} />
          <input aria-label="Path" className="mono" placeholder="$.customer.city" value={f.path} onChange={(e) => set({ path: e.target.value })} />
          <TypeSelect label="Type of the column" value={f.type} change={(type) => set({ type })} />
        </>
      )}
    </List>
  );
}

function Filters({ plan: p, change }: { plan: Plan; change: (p: Partial<Plan>) => void }) {
  return (
    <List title="Filter" add="Keep only some rows" items={p.filters} change={(filters) => change({ filters })} make={() => ({ column: p.fields[0]?.name ?? "", operator: "=" as const, value: "" })}>
      {(f, set) => (
        <>
          <select aria-label="Column of the filter" value={f.column} onChange={(e) => set({ column: e.target.value })}>
            {fieldsOf(p).map((c) => (
              <option key={c.name}>{c.name}</option>
            ))}
          </select>
          <select aria-label="Condition" value={f.operator} onChange={(e) => set({ operator: e.target.value as (typeof operators)[number] })}>
            {operators.map((o) => (
              <option key={o}>{o}</option>
            ))}
          </select>
          {!f.operator.startsWith("is") && <input aria-label="Value" value={f.value} onChange={(e) => set({ value: e.target.value })} />}
        </>
      )}
    </List>
  );
}

function TypeSelect({ label, value, change }: { label: string; value: string; change: (type: string) => void }) {
  return (
    <select aria-label={label} value={value} onChange={(e) => change(e.target.value)}>
      {types.map((t) => (
        <option key={t} value={t}>
          {typeName(t)}
        </option>
      ))}
      {!(types as readonly string[]).includes(value) && <option>{value}</option>}
    </select>
  );
}

/** How many columns are shown until somebody wants all. */
const fewColumns = 60;

function Columns({ plan: p, change }: { plan: Plan; change: (p: Partial<Plan>) => void }) {
  const [all, setAll] = useState(false);
  const fields = fieldsOf(p).filter((f) => f.name !== "__time");
  const edit = (name: string, e: Edit) => change({ edits: { ...p.edits, [name]: { ...p.edits[name], ...e } } });
  const lists = fields.some((f) => f.type === "VARCHAR ARRAY");
  const names = keptOf(p).map((k) => k.name);
  const twice = names.find((n, i) => names.indexOf(n) !== i || n === "__time" || (p.rollup && n === "count"));
  return (
    <section className="card stack">
      <h2>Columns</h2>
      {twice !== undefined && <p className="bad">The name {twice} is taken twice.</p>}
      <div className="scroll" tabIndex={0} role="region" aria-label="Columns" style={{ maxHeight: 320 }}>
        <table className="list">
          <thead>
            <tr>
              {["Load", "Column", "Name", "Type", ...(p.rollup ? ["Becomes"] : []), ...(lists ? ["Lists"] : [])].map((t, i) => (
                <th key={i}>
                  <span>{t}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {fields.slice(0, all ? undefined : fewColumns).map((f) => {
              const e = p.edits[f.name] ?? {};
              const isTime = f.name === p.time.column && !p.keepTime;
              return (
                <tr key={f.name}>
                  <td>
                    <input type="checkbox" aria-label={`Load ${f.name}`} checked={!e.drop && !isTime} disabled={isTime} onChange={(x) => edit(f.name, { drop: !x.target.checked })} />
                  </td>
                  <td>{f.name}</td>
                  <td>
                    {isTime ? <span className="muted">__time</span> : <input aria-label={`Name of ${f.name}`} value={e.rename ?? f.name} onChange={(x) => edit(f.name, { rename: x.target.value })} />}
                  </td>
                  <td>
                    <TypeSelect label={`Type of ${f.name}`} value={f.type} change={(type) => edit(f.name, { type })} />
                  </td>
                  {p.rollup && (
                    <td>
                      {!isTime && (
                        <select aria-label={`${f.name} becomes`} value={e.role ?? "dimension"} onChange={(x) => edit(f.name, { role: x.target.value as Edit["role"] })}>
                          {roles.filter((r) => r === "dimension" || r === "distinct count" || isNumber(f.type)).map((r) => (
                            <option key={r}>{r}</option>
                          ))}
                        </select>
                      )}
                    </td>
                  )}
                  {lists && (
                    <td>
                      {f.type === "VARCHAR ARRAY" && (
                        <label>
                          <input type="checkbox" checked={!!e.multi} onChange={(x) => edit(f.name, { multi: x.target.checked })} /> multi-value
                        </label>
                      )}
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {!all && fields.length > fewColumns && <button onClick={() => setAll(true)}>Show all {count(fields.length)} columns</button>}
    </section>
  );
}

function shown(value: unknown): ReactNode {
  if (value === null || value === undefined) return <span className="muted">NULL</span>;
  const text = typeof value === "object" ? JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v)) : String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Takes the reason out of the message of a record whose values have wrong types. */
function reasonOf(error: string): string {
  return /^Found unparseable columns in row: .*exceptions: \[(.*)\]$/s.exec(error)?.[1] ?? error;
}

function timeText(value: unknown): string {
  const n = Number(value);
  return Number.isFinite(n) && Math.abs(n) <= 8.64e15 ? new Date(n).toISOString() : String(value);
}

/** How many rows and columns of the preview are in the page. */
const [rowsShown, columnsShown] = [20, 60];

function Preview({ preview }: { preview: Props["preview"] }) {
  if (preview.error) return <Failure error={preview.error} />;
  if (!preview.data) return <Skeleton lines={8} />;
  const schema = schemaOf(preview.data.plan) as { dimensionsSpec: { dimensions: { name: string; type: string }[] }; metricsSpec: { name: string }[] };
  const columns = [...schema.dimensionsSpec.dimensions, ...schema.metricsSpec.map((m) => ({ name: m.name, type: "long" }))].slice(0, columnsShown);
  const rows = preview.data.data.filter((d) => d.parsed);
  const bad = preview.data.data.filter((d) => d.error);
  return (
    <section aria-busy={preview.isFetching}>
      <h2>
        Preview <span className="muted">of {counted(preview.data.numRowsRead, "record")}</span>
      </h2>
      {(preview.data.warnings ?? []).map((w) => (
        <p key={w} className="warn">
          {w}
        </p>
      ))}
      {bad.length > 0 && (
        <p className="bad">
          {count(bad.length)} of {count(preview.data.data.length)} records are no rows. The first: {reasonOf(bad[0]!.error!)}
        </p>
      )}
      {rows.length === 0 ? (
        <div className="empty">{bad.length > 0 ? "None of the records is a row." : "No record passes the filters."}</div>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label="The first rows">
          <table className="list">
            <thead>
              <tr>
                {["__time", ...columns.map((c) => c.name)].map((name, i) => (
                  <th key={name} className={i > 0 && /long|double|float/.test(columns[i - 1]!.type) ? "num" : undefined}>
                    <span>{name}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, rowsShown).map((d, i) => (
                <tr key={i}>
                  <td className="fixed">{timeText(d.parsed!.__time)}</td>
                  {columns.map((c) => (
                    <td key={c.name} className={/long|double|float/.test(c.type) ? "num" : undefined}>
                      {shown(d.parsed![c.name])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
