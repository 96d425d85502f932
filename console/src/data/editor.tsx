// A setting of the server as JSON or as a form: edited, reviewed as a difference, saved with a
// comment, and compared with what it was before.
import { useMutation, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { parse } from "../api/client";
import { instant, json } from "../api/format";
import type { Value } from "../api/sql";
import { useSettings } from "../settings";
import { Failure, Skeleton } from "../ui/parts";
import { Choice } from "./parts";

const Code = lazy(async () => ({ default: (await import("./code")).Code }));
const Difference = lazy(async () => ({ default: (await import("./code")).Difference }));

/** Writes a value as it is shown and compared. */
export function shown(value: unknown): string {
  return value === undefined ? "" : json(value as Value, 2);
}

/** A change that the server remembers. */
export interface Change {
  at: string;
  who?: string | null;
  comment?: string | null;
  value: unknown;
}

export function Diff(props: { label: string; before: string; after: string }) {
  return props.before === props.after ? (
    <p className="muted">No changes.</p>
  ) : (
    <Suspense fallback={<Skeleton lines={6} />}>
      <Difference {...props} />
    </Suspense>
  );
}

export function JSONText(props: { label: string; text: string; change?: (text: string) => void }) {
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <Code {...props} />
    </Suspense>
  );
}

export interface EditorProps<T> {
  /** What is edited, for names of parts. */
  name: string;
  value: T;
  /** Writes the form of a value. Without it there is JSON only. */
  form?: (value: T, change: (value: T) => void) => ReactNode;
  /** Says what a new value would do, below the difference. */
  effect?: (value: T) => ReactNode;
  save: (value: T, comment: string) => Promise<unknown>;
  saved: () => void;
  /** Things that can be done beside. */
  actions?: ReactNode;
}

/** Edits a value. What was typed stays when saving fails. */
export function Editor<T>({ name, value, form, effect, save, saved, actions }: EditorProps<T>) {
  const before = shown(value);
  const [way, setWay] = useState<"form" | "json">(form ? "form" : "json");
  const [text, setText] = useState<string>();
  const [review, setReview] = useState(false);
  const [comment, setComment] = useState("");
  const now = text ?? before;
  const [edited, problem] = read<T>(now);
  const saving = useMutation({
    mutationFn: () => save(edited as T, comment),
    onSuccess: () => (setText(undefined), setReview(false), setComment(""), saved()),
  });
  const same = edited !== undefined && shown(edited) === before;
  return (
    <div className="stacked">
      <div className="row">
        {form && (
          <Choice
            label={`How ${name} is edited`}
            options={[["form", "Form"], ["json", "JSON"]]}
            value={way}
            choose={(w) => (problem ? undefined : setWay(w))}
          />
        )}
        <span className="grow" />
        {actions}
        <button disabled={text === undefined} onClick={() => (setText(undefined), setReview(false))}>
          Undo
        </button>
        <button className="primary" disabled={same || !!problem} onClick={() => setReview(!review)} aria-expanded={review}>
          Review and save
        </button>
      </div>
      {problem && (
        <p className="bad" role="alert">
          Not valid JSON: {problem}
        </p>
      )}
      {way === "form" && form && edited !== undefined ? (
        form(edited, (v) => setText(shown(v)))
      ) : (
        <JSONText label={name} text={now} change={setText} />
      )}
      {review && edited !== undefined && !same && (
        <section className="card stacked" aria-label={`Changes of ${name}`}>
          <h2>What changes</h2>
          <Diff label={`Difference of ${name}`} before={before} after={shown(edited)} />
          {effect?.(edited)}
          <form
            className="row"
            onSubmit={(e) => {
              e.preventDefault();
              saving.mutate();
            }}
          >
            <label className="grow">
              Comment for the history{" "}
              <input value={comment} onChange={(e) => setComment(e.target.value)} placeholder="why" style={{ width: "min(100%, 360px)" }} />
            </label>
            <button className="primary" disabled={saving.isPending}>
              Save
            </button>
          </form>
        </section>
      )}
      {saving.error && <Failure error={saving.error} />}
      {saving.isSuccess && text === undefined && (
        <p className="good" role="status">
          Saved.
        </p>
      )}
    </div>
  );
}

function read<T>(text: string): [T | undefined, string] {
  try {
    return [parse(text) as T, ""];
  } catch (e) {
    return [undefined, (e as Error).message];
  }
}

/** Lists changes; one of them is compared with what is there now, or with the one before it. */
export function Changes({ name, load, now }: { name: string; load: (signal: AbortSignal) => Promise<Change[]>; now?: unknown }) {
  const { zone } = useSettings();
  const [at, setAt] = useState<number>();
  const [against, setAgainst] = useState<"before" | "now">("before");
  const list = useQuery({ queryKey: ["changes", name], queryFn: ({ signal }) => load(signal) });
  const changes = list.data ?? [];
  const one = at === undefined ? undefined : changes[at];
  return (
    <section className="stacked" aria-label={`History of ${name}`}>
      {list.error && <Failure error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && <Skeleton lines={4} />}
      {list.data?.length === 0 && <p className="muted">No changes yet.</p>}
      <ul className="changes">
        {changes.map((c, i) => (
          <li key={i}>
            <button aria-pressed={at === i} onClick={() => setAt(at === i ? undefined : i)}>
              <span>{instant(c.at, zone)}</span>
              {c.who && <b>{c.who}</b>}
              <span className="muted grow">{c.comment || "no comment"}</span>
            </button>
          </li>
        ))}
      </ul>
      {one && (
        <>
          <Choice
            label="Compare with"
            options={[["before", "What it changed"], ["now", "Compared with now"]]}
            value={against}
            choose={setAgainst}
          />
          {against === "now" ? (
            <Diff label={`${name} then and now`} before={shown(one.value)} after={shown(now)} />
          ) : (
            <Diff label={`What changed in ${name}`} before={shown(changes[at! + 1]?.value)} after={shown(one.value)} />
          )}
        </>
      )}
    </section>
  );
}

interface Audit {
  auditTime: string;
  auditInfo?: { author?: string | null; comment?: string | null; identity?: string | null } | null;
  payload: unknown;
}

/** Reads entries of the audit history, whose payloads are texts. */
export function changesOf(entries: Audit[] | undefined): Change[] {
  return (entries ?? []).map((e) => {
    let value = e.payload;
    if (typeof value === "string") {
      try {
        value = parse(value);
      } catch {
        // It is a text then.
      }
    }
    return { at: e.auditTime, who: e.auditInfo?.identity || e.auditInfo?.author, comment: commentOf(e.auditInfo?.comment), value };
  });
}

/** Undoes how change writes comments that are more than ASCII. */
export function commentOf(text: string | null | undefined): string {
  if (!text || !/%[0-9A-F]{2}/.test(text)) return text ?? "";
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
