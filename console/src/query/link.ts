// The state of the view in its address: /#/query?sql=...&engine=...&as=...&chart=...&zone=...
import type { Engine, Shown, Tab } from "./tabs";
import { chartKinds, type ChartKind } from "./suggest";

export interface Linked {
  sql: string;
  engine?: Engine;
  shown?: Shown;
  chart?: ChartKind;
  zone?: string;
}

/** Addresses beyond it are cut short by programs that pass them on: a longer statement is saved instead. */
const longest = 16_000;

/** Writes the address of a tab, from its hash on; undefined: it would be too long. */
export function linkOf(tab: Tab, zone: string): string | undefined {
  const q = new URLSearchParams({ sql: tab.text });
  if (tab.engine && tab.engine !== "query") q.set("engine", tab.engine);
  if (tab.shown && tab.shown !== "table") q.set("as", tab.shown);
  if (tab.chart) q.set("chart", tab.chart);
  if (zone !== "UTC") q.set("zone", zone);
  const link = `#/query?${q}`;
  return link.length > longest ? undefined : link;
}

function oneOf<T extends string>(text: string | null, all: readonly T[]): T | undefined {
  return all.find((t) => t === text);
}

/** Reads what an address says; what can't be is left out. */
export function readLink(query: string): Linked | undefined {
  const q = new URLSearchParams(query);
  const sql = q.get("sql");
  if (!sql) return undefined;
  let zone = q.get("zone") ?? undefined;
  try {
    if (zone) new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    zone = undefined; // no zone of this browser
  }
  return {
    sql, zone, engine: oneOf(q.get("engine"), ["query", "statement", "task"] as const), shown: oneOf(q.get("as"), ["table", "chart", "plan"] as const),
    chart: oneOf(q.get("chart"), Object.keys(chartKinds) as ChartKind[]),
  };
}

/** Whether a statement that a link brings may run by itself: it only reads. */
export function onlyReads(statement: string): boolean {
  const bare = statement.replace(/^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, "");
  return /^\(*\s*(?:SELECT|WITH|VALUES|EXPLAIN)\b/i.test(bare) && !/\b(?:INSERT|REPLACE)\s+INTO\b/i.test(bare);
}
