// Tabs and history, kept in the browser over reloads.
import { useEffect, useState } from "react";
import { keep, kept } from "../settings";
import type { ChartKind } from "./suggest";

/** How an answer is shown. */
export type Shown = "table" | "chart" | "plan";

/** What runs a statement: a query answers at once, a statement keeps its answer, a task loads rows. */
export type Engine = "query" | "statement" | "task";

/** The saved query that a tab is of. */
export interface SavedAs {
  id: string;
  version: number;
  own: boolean;
  shared: boolean;
}

export interface Tab {
  id: number;
  name: string;
  text: string;
  engine?: Engine;
  shown?: Shown;
  chart?: ChartKind;
  saved?: SavedAs;
}

export interface Tabs {
  tabs: Tab[];
  current: Tab;
  choose(id: number): void;
  /** Adds a tab and chooses it. */
  add(text: string, more?: Partial<Omit<Tab, "id" | "text">>): void;
  /** Changes what the current tab is beside its text. */
  change(more: Partial<Omit<Tab, "id" | "text">>): void;
  close(id: number): void;
  write(text: string): void;
  rename(id: number, name: string): void;
}

const firstText = `-- Ctrl-Enter runs the statement at the cursor.
SELECT TABLE_SCHEMA, TABLE_NAME
FROM INFORMATION_SCHEMA.TABLES
ORDER BY 1, 2`;

interface Kept {
  tabs: Tab[];
  at: number;
}

function read(): Kept {
  try {
    const k = JSON.parse(kept("tabs", "")) as Kept;
    if (Array.isArray(k.tabs) && k.tabs.length > 0 && k.tabs.every((t) => typeof t.text === "string")) return k;
  } catch {
    // Nothing was kept yet, or by another version.
  }
  return { tabs: [{ id: 1, name: "Query 1", text: firstText }], at: 1 };
}

export function useTabs(): Tabs {
  const [{ tabs, at }, set] = useState(read);
  useEffect(() => {
    const timer = setTimeout(() => keep("tabs", JSON.stringify({ tabs, at })), 300);
    return () => clearTimeout(timer);
  }, [tabs, at]);
  const current = tabs.find((t) => t.id === at) ?? tabs[0]!;
  return {
    tabs,
    current,
    choose: (id) => set((k) => ({ ...k, at: id })),
    change: (more) => set((k) => ({ ...k, tabs: k.tabs.map((t) => (t.id === k.at ? { ...t, ...more } : t)) })),
    add: (text, more) =>
      set((k) => {
        const id = Math.max(0, ...k.tabs.map((t) => t.id)) + 1;
        return { tabs: [...k.tabs, { name: `Query ${id}`, ...more, id, text }], at: id };
      }),
    close: (id) =>
      set((k) => {
        const left = k.tabs.filter((t) => t.id !== id);
        if (left.length === 0) return { tabs: [{ id: id + 1, name: `Query ${id + 1}`, text: "" }], at: id + 1 };
        return { tabs: left, at: k.at === id ? left[left.length - 1]!.id : k.at };
      }),
    write: (text) => set((k) => ({ ...k, tabs: k.tabs.map((t) => (t.id === current.id ? { ...t, text } : t)) })),
    rename: (id, name) => set((k) => ({ ...k, tabs: k.tabs.map((t) => (t.id === id ? { ...t, name } : t)) })),
  };
}

/** What ran: the newest first. */
export interface Past {
  text: string;
  at: string;
  ms: number;
  rows: number;
  error?: string;
}

const pastLimit = 200;

export function history(): Past[] {
  try {
    const all = JSON.parse(kept("history", "[]")) as Past[];
    return Array.isArray(all) ? all : [];
  } catch {
    return [];
  }
}

/** Notes what ran. The same statement again moves to the front. */
export function remember(past: Past): void {
  const others = history().filter((p) => p.text !== past.text);
  keep("history", JSON.stringify([past, ...others].slice(0, pastLimit)));
}
