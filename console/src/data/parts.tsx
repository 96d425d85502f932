// Parts that the views of data and operations share.
import { useId, useRef, useState, type ReactNode } from "react";
import { count } from "../api/format";
import { Dialog as Shared } from "../ui/dialog";
import "./data.css";

export interface Tab {
  id: string;
  name: string;
  content: () => ReactNode;
}

/** Tabs with the keyboard as people know it: arrows go from one to the next. */
export function Tabs({ label, tabs, at, choose }: { label: string; tabs: Tab[]; at: string | null; choose: (id: string) => void }) {
  const current = tabs.find((t) => t.id === at) ?? tabs[0]!;
  const list = useRef<HTMLDivElement>(null);
  const own = useId();
  const move = (by: number) => {
    const next = (tabs.indexOf(current) + by + tabs.length) % tabs.length;
    choose(tabs[next]!.id);
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <>
      <div
        ref={list}
        className="tablist"
        role="tablist"
        aria-label={label}
        onKeyDown={(e) => {
          if (e.key === "ArrowRight") move(1);
          if (e.key === "ArrowLeft") move(-1);
        }}
      >
        {tabs.map((t) => (
          <button key={t.id} id={`${own}${t.id}`} role="tab" aria-selected={t === current} tabIndex={t === current ? 0 : -1} onClick={() => choose(t.id)}>
            {t.name}
          </button>
        ))}
      </div>
      <div className="tabpanel" role="tabpanel" aria-labelledby={`${own}${current.id}`} key={current.id}>
        {current.content()}
      </div>
    </>
  );
}

/** Writes a number with what is counted: 1 segment, 2,000 segments. */
export function counted(n: number, one: string): string {
  return `${count(n)} ${one}${n === 1 ? "" : "s"}`;
}

/** Names with what they have, in columns. */
export function Facts({ list }: { list: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {list.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A dialog whose parts stand below each other. */
export function Dialog({ children, width = 900, ...more }: { title: string; close: () => void; width?: number; children: ReactNode }) {
  return (
    <Shared {...more} width={width}>
      <div className="stacked" style={{ marginTop: 12 }}>
        {children}
      </div>
    </Shared>
  );
}

/** Asks before something is done that can't be undone: a word must be typed. */
export function Typed({ word, action, busy, run }: { word: string; action: string; busy: boolean; run: () => void }) {
  const [text, setText] = useState("");
  return (
    <form
      className="row"
      onSubmit={(e) => {
        e.preventDefault();
        if (text === word && !busy) run();
      }}
    >
      <label className="grow">
        Type <b className="mono">{word}</b> to confirm{" "}
        <input value={text} onChange={(e) => setText(e.target.value)} autoComplete="off" spellCheck={false} />
      </label>
      <button className="danger" disabled={text !== word || busy}>
        {action}
      </button>
    </form>
  );
}

/** Buttons of which one is chosen. */
export function Choice<T extends string>({ label, options, value, choose }: { label: string; options: [T, string][]; value: T; choose: (v: T) => void }) {
  return (
    <span className="choice" role="group" aria-label={label}>
      {options.map(([id, name]) => (
        <button key={id} aria-pressed={id === value} onClick={() => choose(id)}>
          {name}
        </button>
      ))}
    </span>
  );
}
