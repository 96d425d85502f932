// Why something is as it is, in the words of the server.
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/client";
import type { Schemas } from "../api/types";
import { count } from "../api/format";
import { Failure, Skeleton, Tag } from "../ui/parts";
import { shown } from "./editor";
import { counted } from "./parts";

export type Decision = Schemas["Decision"];

const good = new Set(["loaded", "compacted", "reading", "running", "ended", "fixed", "disabled", "kept"]);

/** A sign for an outcome. */
export function kindOf(outcome: string): "good" | "warn" | "bad" | undefined {
  if (outcome === "failed" || outcome === "refused") return "bad";
  if (outcome === "ended" || outcome === "fixed" || outcome === "disabled") return undefined;
  return good.has(outcome) ? "good" : "warn";
}

/** Puts decisions with the same reason together: a hundred segments may wait for the same thing. */
export function sameReasons(list: Decision[]): Decision[][] {
  const groups = new Map<string, Decision[]>();
  for (const d of list) {
    const key = [d.subject, d.dataSource, d.topic, d.outcome, d.reason].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), d]);
  }
  return [...groups.values()];
}

export function Why({ of, id }: { of: "segment" | "datasource" | "task" | "supervisor"; id: string }) {
  const why = useQuery({
    queryKey: ["why", of, id],
    queryFn: async ({ signal }) =>
      (await call<{ decisions: Decision[] }>("GET", `/service/coordinator/v1/why?${of}=${encodeURIComponent(id)}`, undefined, signal)).decisions,
    refetchInterval: 5_000,
  });
  return (
    <section className="card" aria-label="Reasons">
      <h2>Reasons</h2>
      {why.error && <Failure error={why.error} retry={() => void why.refetch()} />}
      {why.isPending && <Skeleton lines={2} />}
      {sameReasons(why.data ?? []).map((same) => {
        const d = same[0]!;
        const details = same.filter((x) => x.details && Object.keys(x.details).length > 0);
        return (
          <div key={d.topic + d.outcome + d.reason + d.subject}>
            <p>
              <Tag kind={kindOf(d.outcome)}>{d.outcome}</Tag> {d.topic}
              {d.subject !== of && `, ${same.length === 1 ? `${d.subject} ${d.id}` : counted(same.length, d.subject)}`}: {d.reason}
            </p>
            {details.length > 0 && (
              <details>
                <summary className="muted">Details</summary>
                <pre>{details.slice(0, 20).map((x) => (same.length === 1 ? "" : `${x.id}\n`) + shown(x.details)).join("\n")}</pre>
                {details.length > 20 && <p className="muted">and {count(details.length - 20)} more</p>}
              </details>
            )}
          </div>
        );
      })}
    </section>
  );
}
