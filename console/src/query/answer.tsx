// The answer of a query as table, chart or plan, and what can be taken along of it.
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { sendText } from "../api/client";
import type { Column, Value } from "../api/sql";
import { Failure, Skeleton } from "../ui/parts";
import { as, kinds, type Kind } from "./copyas";
import { between, equals } from "./conditions";
import { download, formats, write, type Format } from "./copy";
import { Grid } from "./grid";
import { useStatistics } from "./heads";
import { planOf, PlanTree } from "./plan";
import type { Result } from "./runner";
import type { ChartKind } from "./suggest";
import type { Shown } from "./tabs";

const Chart = lazy(() => import("./chart"));

interface AnswerProps {
  result: Result;
  shown: Shown;
  setShown: (shown: Shown) => void;
  chart?: ChartKind;
  setChart: (kind: ChartKind) => void;
  zone: string;
  narrow: (condition: string) => void;
}

export default function Answer({ result, shown, setShown, chart, setChart, zone, narrow }: AnswerProps) {
  const plan = useMemo(() => (result.state === "done" ? planOf(result.statement, result.rows) : undefined), [result]);
  const filter = useCallback((column: Column, value: Value) => narrow(equals(column, value)), [narrow]);
  const time = result.columns.find((c) => c.type === "TIMESTAMP");
  const brush = useMemo(() => (time ? (from: string, to: string) => narrow(between(time, from, to)) : undefined), [time, narrow]);
  const statistics = useStatistics(result.statement, result.columns);
  const at = shown === "plan" && !plan ? "table" : shown;
  return (
    <>
      <div className="row">
        <span className="row" role="tablist" aria-label="Result as">
          <button role="tab" aria-selected={at === "table"} onClick={() => setShown("table")}>Table</button>
          <button role="tab" aria-selected={at === "chart"} onClick={() => setShown("chart")}>Chart</button>
          {plan && <button role="tab" aria-selected={at === "plan"} onClick={() => setShown("plan")}>Plan</button>}
        </span>
        <span className="grow" />
        <Export result={result} />
      </div>
      {at === "table" && <Grid columns={result.columns} rows={result.rows} version={result.version} zone={zone} filter={filter} statistics={statistics} />}
      {at === "chart" && (
        <Suspense fallback={<Skeleton lines={4} />}>
          <Chart columns={result.columns} rows={result.rows} zone={zone} brush={brush} kind={chart} setKind={setChart} />
        </Suspense>
      )}
      {at === "plan" && plan && <PlanTree plan={plan} />}
    </>
  );
}

/** Saves the whole answer as Parquet: the server runs the statement once more and writes the file. */
async function saveParquet(statement: string): Promise<void> {
  const answer = await sendText("POST", "/service-ext/console/export", { type: "application/json", text: JSON.stringify({ query: statement }) });
  download("result.parquet", "application/vnd.apache.parquet", await answer.blob());
}

function Export({ result }: { result: Result }) {
  const [format, setFormat] = useState<Format | "parquet">("csv");
  const [copied, setCopied] = useState("");
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<Error>();
  const put = (text: string, what: string) =>
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(what);
      setTimeout(() => setCopied(""), 1500);
    });
  const save = () => {
    setError(undefined);
    if (format !== "parquet") {
      download(`result.${formats[format].end}`, formats[format].type, write(format, result.columns, result.rows));
      return;
    }
    setSaving(true);
    void saveParquet(result.statement).catch(setError).finally(() => setSaving(false));
  };
  return (
    <>
      <label>
        <span className="sr">Copy the query as</span>
        <select
          value="" onChange={(e) => put(as(e.target.value as Kind, result.statement, location.origin), e.target.value)}
        >
          <option value="" disabled>{copied in kinds ? "Copied" : "Copy as…"}</option>
          {Object.entries(kinds).map(([key, name]) => <option key={key} value={key}>{name}</option>)}
        </select>
      </label>
      <label>
        <span className="sr">Format</span>
        <select value={format} onChange={(e) => setFormat(e.target.value as Format | "parquet")}>
          {Object.entries(formats).map(([key, f]) => <option key={key} value={key}>{f.name}</option>)}
          <option value="parquet">Parquet</option>
        </select>
      </label>
      <button disabled={format === "parquet"} onClick={() => format !== "parquet" && put(write(format, result.columns, result.rows), "rows")}>
        {copied === "rows" ? "Copied" : "Copy"}
      </button>
      <button disabled={saving || result.columns.length === 0} onClick={save}>{saving ? "Saving" : "Save"}</button>
      {error && <Failure error={error} retry={save} />}
    </>
  );
}
