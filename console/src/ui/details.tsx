// A dialog with several texts of the server about one thing, one at a time.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { parse, send } from "../api/client";
import { json, type } from "../api/details";
import { Failure, Skeleton } from "./parts";

export interface Part {
  name: string;
  path: string;
}

export function Details({ title, parts, close }: { title: string; parts: Part[]; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const part = parts[at]!;
  const text = useQuery({
    queryKey: ["details", part.path],
    queryFn: async ({ signal }) => {
      const answer = await send("GET", part.path, undefined, signal);
      const body = await answer.text();
      return type(answer) === "json" ? json(parse(body)) : body;
    },
    refetchInterval: 3_000,
  });
  return (
    <dialog ref={dialog} onClose={close} aria-label={title} style={{ width: 900 }}>
      <div className="row">
        <h2 className="grow">{title}</h2>
        <button autoFocus onClick={close}>
          Close
        </button>
      </div>
      <div className="row" role="tablist" aria-label={title}>
        {parts.map((p, i) => (
          <button key={p.name} role="tab" aria-selected={i === at} onClick={() => setAt(i)}>
            {p.name}
          </button>
        ))}
      </div>
      <div className="scroll" style={{ marginTop: 8, maxHeight: "60vh", padding: 10 }} tabIndex={0} role="tabpanel" aria-label={part.name}>
        {text.error && <Failure error={text.error} retry={() => void text.refetch()} />}
        {text.isPending && <Skeleton lines={6} />}
        {text.data !== undefined && <pre>{text.data || "(nothing)"}</pre>}
      </div>
    </dialog>
  );
}
