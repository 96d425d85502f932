// Limits of a user or a role.
import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { Failure, Skeleton } from "../ui/parts";
import { useChange, type Limits } from "./data";

const fields: [keyof Limits, string][] = [
  ["concurrentQueries", "Concurrent queries"],
  ["requestsPerSecond", "Requests per second"],
  ["rows", "Rows per query"],
  ["bytes", "Segment bytes per query"],
  ["cpuSeconds", "CPU seconds per query"],
];

/** The limits that a query reads, in a form. */
export function LimitsOf({ of, save }: { of: UseQueryResult<Limits | undefined>; save: (l: Limits) => Promise<unknown> }) {
  if (of.error) return <Failure error={of.error} retry={() => void of.refetch()} />;
  if (of.isPending) return <Skeleton lines={4} />;
  return <LimitsForm limits={of.data ?? {}} save={save} />;
}

function LimitsForm({ limits, save }: { limits: Limits; save: (l: Limits) => Promise<unknown> }) {
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(Object.entries(limits).map(([k, v]) => [k, String(v)])));
  const [saved, setSaved] = useState(false);
  const change = useChange(() => setSaved(true));
  const wrong = fields.find(([k]) => texts[k] && !(Number(texts[k]) > 0))?.[1];
  const value = Object.fromEntries(fields.filter(([k]) => texts[k]).map(([k]) => [k, Number(texts[k])])) as Limits;
  return (
    <form className="stack" onSubmit={(e) => (e.preventDefault(), change.mutate(() => save(value)))}>
      <div className="form">
        {fields.map(([key, name]) => (
          <label key={key}>
            <span>{name}</span>
            <input inputMode="decimal" placeholder="no limit" value={texts[key] ?? ""} onChange={(e) => (setSaved(false), setTexts({ ...texts, [key]: e.target.value.trim() }))} />
          </label>
        ))}
      </div>
      {change.error && <Failure error={change.error} />}
      <div className="row">
        <span className="grow" role="status">
          {wrong ? <span className="bad">{wrong}: a number above 0, or empty.</span> : saved && <span className="good">Saved.</span>}
        </span>
        <button className="primary" disabled={wrong !== undefined || change.isPending}>
          Save limits
        </button>
      </div>
    </form>
  );
}
