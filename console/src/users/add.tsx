// The dialog that makes a user, a role or a mapping.
import type { ReactNode } from "react";
import { Dialog } from "../ui/dialog";
import { Failure } from "../ui/parts";
import type { useChange } from "./data";

export function AddDialog({ title, wrong, change, save, close, children }: {
  title: string;
  /** What is wrong with the fields; undefined: nothing is. */
  wrong: string | undefined;
  change: ReturnType<typeof useChange>;
  save: () => Promise<unknown>;
  close: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog title={title} close={close}>
      <form className="stack" style={{ marginTop: 8 }} onSubmit={(e) => (e.preventDefault(), wrong === undefined && change.mutate(save))}>
        {children}
        {change.error && <Failure error={change.error} />}
        <div className="row">
          <span className="grow bad" role="status">{wrong}</span>
          <button className="primary" disabled={wrong !== undefined || change.isPending}>
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}
