// Dialogs: one with any content, and one that asks before something is changed.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { Failure } from "./parts";

export function Dialog({ title, close, width, children }: { title: string; close: () => void; width?: number; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = dialog.current!;
    const before = document.activeElement;
    d.showModal();
    return () => {
      d.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus(); // where the keyboard was
    };
  }, []);
  return (
    <dialog
      ref={dialog} aria-label={title} style={{ width, maxWidth: "94vw" }}
      onCancel={(e) => (e.preventDefault(), close())}
    >
      <div className="row">
        <h2 className="grow">{title}</h2>
        <button onClick={close}>Close</button>
      </div>
      {children}
    </dialog>
  );
}

/** Asks before something is done, and stays until it is. What is shown is then read anew. */
export function Confirm({ title, children, yes, act, done, close, reads }: {
  title: string;
  children: ReactNode;
  yes: string;
  act: () => Promise<unknown>;
  done: () => void;
  close: () => void;
  /** The first word of the keys of the queries that are read anew. */
  reads?: string;
}) {
  const cache = useQueryClient();
  const run = useMutation({
    mutationFn: act,
    onSuccess: () => {
      if (reads) void cache.invalidateQueries({ queryKey: [reads] });
      done();
    },
  });
  return (
    <Dialog title={title} close={close}>
      <div className="stack">
        <div>{children}</div>
        {run.error && <Failure error={run.error} />}
        <div className="row">
          <span className="grow" />
          <button autoFocus onClick={close}>
            Cancel
          </button>
          <button className="danger" disabled={run.isPending} onClick={() => run.mutate()}>
            {yes}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
