import type { ReactNode } from "react";
import { Link } from "wouter";

/** The heading of one thing of a list, with the way back to the list. */
export function Trail({ to, list, children }: { to: string; list: string; children: ReactNode }) {
  return (
    <h1>
      <Link href={to} className="back">
        {list}
      </Link>
      <span className="sep">/</span>
      {children}
    </h1>
  );
}
