// What may stand at the cursor: tables and columns from INFORMATION_SCHEMA, functions with their
// signatures, keywords from the language.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { ident, select } from "../api/sql";

interface ColumnRow {
  s: string;
  t: string;
  c: string;
  d: string;
}

interface Routine {
  name: string;
  signatures: string | null;
  aggregator: string;
}

export interface Catalog {
  tables: Completion[];
  columns: Map<string, Completion[]>;
  functions: Completion[];
}

/** Columns of a catalog that are read at most: names beyond it are not completed. */
const columnLimit = 50_000;

function write(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : ident(name);
}

/** Reads the catalog. */
export async function readCatalog(signal?: AbortSignal): Promise<Catalog> {
  const [columns, routines] = await Promise.all([
    select<ColumnRow>(
      `SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, COLUMN_NAME AS c, DATA_TYPE AS d FROM INFORMATION_SCHEMA.COLUMNS ORDER BY 1, 2, ORDINAL_POSITION LIMIT ${columnLimit}`,
      signal,
    ),
    select<Routine>("SELECT ROUTINE_NAME AS name, SIGNATURES AS signatures, IS_AGGREGATOR AS aggregator FROM INFORMATION_SCHEMA.ROUTINES", signal),
  ]);
  const byTable = new Map<string, Completion[]>();
  const tables: Completion[] = [];
  for (const { s, t, c, d } of columns) {
    const name = s === "service" ? t : `${s}.${t}`;
    let list = byTable.get(name);
    if (!list) {
      list = [];
      byTable.set(name, list);
      tables.push({ label: name, apply: s === "service" ? write(t) : name, type: "class", detail: s === "service" ? "datasource" : "system" });
    }
    list.push({ label: c, apply: write(c), type: "property", detail: d });
  }
  const functions = routines.map((r) => ({
    label: r.name,
    apply: `${r.name}(`,
    type: "function",
    detail: r.aggregator === "YES" ? "aggregate" : "function",
    info: r.signatures?.replaceAll("\\n", "\n") ?? undefined,
    boost: -1,
  }));
  return { tables, columns: byTable, functions };
}

/** Returns the tables that a statement names after FROM and JOIN. */
export function tablesIn(statement: string): string[] {
  const found = new Set<string>();
  for (const m of statement.matchAll(/\b(?:FROM|JOIN|INTO)\s+("(?:[^"]|"")+"|[\w.]+)/gi)) {
    const name = m[1]!;
    found.add(name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);
  }
  return [...found];
}

/** Makes the source of completions from what is known of the catalog by then. */
export function completions(catalog: () => Catalog | undefined, statement: (position: number) => string) {
  return (context: CompletionContext): CompletionResult | Promise<CompletionResult | null> | null => {
    const known = catalog();
    // Within a text: values of the column before it, and paths of a nested one.
    const text = context.matchBefore(/"?([\w ]+?)"?\s*(?:=|<>|!=|,|\bLIKE|\bIN\s*\((?:[^()']*'[^']*'\s*,)*)\s*'[^']*/i);
    if (text && known) {
      const tables = tablesIn(statement(context.pos)).filter((t) => known.columns.has(t));
      return import("./texts").then((m) => m.texts(context.pos, text.text, tables));
    }
    const word = context.matchBefore(/[\w"]*/);
    if (!known || !word || (word.from === word.to && !context.explicit)) return null;
    const before = context.state.sliceDoc(Math.max(0, word.from - 40), word.from);
    if (/\b(?:FROM|JOIN|INTO)\s+$/i.test(before)) return { from: word.from, options: known.tables, validFor: /^[\w".]*$/ };
    const columns = tablesIn(statement(context.pos)).flatMap((t) => known.columns.get(t) ?? []);
    return { from: word.from, options: [...columns, ...known.functions, ...known.tables], validFor: /^[\w"]*$/ };
  };
}
