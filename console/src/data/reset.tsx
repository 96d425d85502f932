// Resets a supervisor: what is skipped or read again is shown before.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { count } from "../api/format";
import { Heads } from "../ui/heads";
import { Failure, Skeleton } from "../ui/parts";
import { change } from "./change";
import { Choice, Dialog, Typed } from "./parts";
import { supervisorPathOf as supervisorPath } from "./paths";
import { positionText, usePlaces, type Places } from "./supervisor";

type To = "settings" | "earliest" | "latest" | "own";

interface Row {
  partition: string;
  from: string | number | bigint | undefined;
  to: string | number | bigint | undefined;
  skipped?: bigint;
  again?: bigint;
}

const whole = (p: unknown): bigint | undefined => {
  if (typeof p === "number" || typeof p === "bigint") return BigInt(p);
  return typeof p === "string" && /^\d+$/.test(p) ? BigInt(p) : undefined;
};

/** What becomes of each partition when it goes on elsewhere. */
export function effectOf(places: Places, to: To, own: Record<string, string>): Row[] {
  return Object.keys(places.latestOffsets).map((partition) => {
    const from = places.publishedOffsets[partition];
    const target = {
      settings: places.resetOffsets[partition],
      earliest: places.earliestOffsets[partition],
      latest: places.latestOffsets[partition],
      own: own[partition] === undefined || own[partition] === "" ? from : own[partition],
    }[to];
    const counted = places.type !== "kinesis"; // whose numbers count nothing
    const [a, b] = [whole(from), whole(target)];
    if (!counted || a === undefined || b === undefined) return { partition, from, to: target };
    return { partition, from, to: target, skipped: b > a ? b - a : 0n, again: a > b ? a - b : 0n };
  });
}

export function Reset({ id, close, done }: { id: string; close: () => void; done: () => void }) {
  const places = usePlaces(id);
  const [to, setTo] = useState<To>("settings");
  const [own, setOwn] = useState<Record<string, string>>({});
  const rows = places.data ? effectOf(places.data, to, own) : [];
  const wrong = to === "own" ? Object.values(own).filter((v) => v !== "" && !/^\d+$/.test(v) && places.data?.type !== "kinesis") : [];
  const reset = useMutation({
    mutationFn: () => {
      if (to === "settings") return change("POST", supervisorPath(id, "/reset"));
      // Numbers are written as they are: they may be beyond what a double holds.
      const changed = rows.filter((r) => r.to !== undefined && String(r.to) !== String(r.from));
      const offsets = changed.map((r) => `${JSON.stringify(r.partition)}:${places.data?.type === "kinesis" ? JSON.stringify(String(r.to)) : String(r.to)}`).join(",");
      const stream = JSON.stringify(places.data!.stream);
      return change(
        "POST",
        supervisorPath(id, "/resetOffsets"),
        `{"type":${JSON.stringify(places.data!.type)},"partitions":{"type":"end","stream":${stream},"partitionOffsetMap":{${offsets}}}}`,
      );
    },
    onSuccess: () => (done(), close()),
  });
  const total = (of: "skipped" | "again") => rows.reduce((n, r) => n + (r[of] ?? 0n), 0n);
  const [skipped, again] = [total("skipped"), total("again")];
  const nothing = to !== "settings" && rows.every((r) => String(r.to) === String(r.from));
  return (
    <Dialog title={`Reset ${id}`} close={close} width={820}>
      {places.error && <Failure error={places.error} retry={() => void places.refetch()} />}
      {places.isPending && <Skeleton lines={5} />}
      {places.data && (
        <>
          <Choice
            label="Continue at"
            options={[["settings", "As configured"], ["earliest", "Earliest"], ["latest", "Latest"], ["own", "Custom offsets"]]}
            value={to}
            choose={setTo}
          />
          <div className="scroll" tabIndex={0} role="region" aria-label="What a reset does" style={{ maxHeight: "40vh" }}>
            <table className="list">
              <thead>
                <tr>
                  <th>
                    <span>Partition</span>
                  </th>
                  <Heads names={["Published until", "Continues at", "Skipped", "Read again"]} num />
                </tr>
              </thead>
              <tbody>
                {rows.map((r) => (
                  <tr key={r.partition}>
                    <td className="mono">{r.partition}</td>
                    <td className="num">{positionText(r.from)}</td>
                    <td className="num">
                      {to === "own" ? (
                        <input
                          aria-label={`Offset of partition ${r.partition}`}
                          value={own[r.partition] ?? ""}
                          placeholder={String(r.from ?? "")}
                          style={{ width: 150, textAlign: "right" }}
                          onChange={(e) => setOwn({ ...own, [r.partition]: e.target.value.trim() })}
                        />
                      ) : (
                        positionText(r.to)
                      )}
                    </td>
                    <td className={r.skipped ? "num bad" : "num"}>{r.skipped === undefined ? "not known" : count(r.skipped)}</td>
                    <td className={r.again ? "num warn" : "num"}>{r.again === undefined ? "not known" : count(r.again)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p className={skipped > 0n || again > 0n ? "note warn" : "note"} role="status">
            {nothing
              ? "No partition changes its position."
              : `${count(skipped)} records are skipped and never read; ${count(again)} published records are read again, and their rows count twice. Rows that tasks have read and not published are dropped, and read again if they are ahead.`}
          </p>
          {wrong.length > 0 && <p className="bad">Offsets must be integers.</p>}
          {reset.error && <Failure error={reset.error} />}
          {!nothing && wrong.length === 0 && <Typed word={id} action="Reset" busy={reset.isPending} run={() => reset.mutate()} />}
        </>
      )}
    </Dialog>
  );
}
