// Small parts that all views share.
import type { ReactNode } from "react";
import { ApiError } from "../api/client";

/** Stands where something will be. */
export function Skeleton({ lines }: { lines: number }) {
  return (
    <div role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className="skeleton" style={{ width: `${90 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** Says what went wrong, and what helps. */
export function Failure({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <div className="error" role="alert">
      <div>{error.message}</div>
      <div className="muted">{remedy(error)}</div>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  );
}

function remedy(error: Error): string {
  if (!(error instanceof ApiError)) return "";
  if (error.unauthenticated) return "Log in, then try again: the server requires a user and a password.";
  if (error.forbidden) return "An administrator of the server can grant the permission.";
  if (error.away) return "The server is starting, has stopped, or is not reachable from here.";
  return "";
}

/** A short state in a colour, which is never the only sign: the word says it too. */
export function Tag({ kind, children }: { kind?: "good" | "warn" | "bad"; children: ReactNode }) {
  return <span className={`tag ${kind ?? ""}`}>{children}</span>;
}

/** A share from 0 to 1 as a bar. */
export function Meter({ share, label }: { share: number; label: string }) {
  const percent = Math.max(0, Math.min(100, share * 100));
  return (
    <div className="meter" role="meter" aria-valuenow={Math.round(percent)} aria-valuemin={0} aria-valuemax={100} aria-label={label}>
      <span style={{ width: `${percent}%` }} />
    </div>
  );
}

/** The frame of a view: its name, what can be done, and the content. */
export function View({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <div className="view">
      <header>
        <h1>{title}</h1>
        <span className="grow" />
        {actions}
      </header>
      {children}
    </div>
  );
}
