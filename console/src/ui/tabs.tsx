// Tabs of a view: arrow keys go from one to the next.
import type { KeyboardEvent, ReactNode } from "react";

export function Tabs<T extends string>({ label, tabs, at, choose }: { label: string; tabs: readonly T[]; at: T; choose: (tab: T) => void }) {
  const move = (e: KeyboardEvent<HTMLDivElement>) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    e.preventDefault();
    const to = (tabs.indexOf(at) + step + tabs.length) % tabs.length;
    choose(tabs[to]!);
    (e.currentTarget.children[to] as HTMLElement).focus();
  };
  return (
    <div className="row" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((t) => (
        <button key={t} role="tab" aria-selected={t === at} tabIndex={t === at ? 0 : -1} onClick={() => choose(t)}>
          {t}
        </button>
      ))}
    </div>
  );
}

export function Panel({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="tabpanel" aria-label={label} className="stack">
      {children}
    </div>
  );
}
