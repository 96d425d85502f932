// Completion within texts: frequent values of a column, and paths of a nested one, from the
// statistics of datasources.
import type { CompletionResult } from "@codemirror/autocomplete";
import { ask } from "../api/ask";
import type { Schemas } from "../api/types";

/** What was asked for already; a failure, such as a missing permission, is no statistics. */
const known = new Map<string, Promise<Schemas["DataSourceStatistics"] | null>>();

function statistics(dataSource: string) {
  let answer = known.get(dataSource);
  if (!answer) {
    answer = ask("GET /service-ext/console/datasources/{dataSource}/columns", { path: { dataSource } }).catch(() => null);
    known.set(dataSource, answer);
    setTimeout(() => known.delete(dataSource), 300_000);
  }
  return answer;
}

/** Completes the text that ends at a position; before is what stands before it, from the column's name on. */
export async function texts(position: number, before: string, tables: string[]): Promise<CompletionResult | null> {
  const quote = before.lastIndexOf("'");
  const words = before.slice(0, quote).match(/[\w ]+(?=")|\w+/g) ?? [];
  const columns = (await Promise.all(tables.slice(0, 4).map(statistics))).flatMap((s) => s?.columns ?? []);
  const column = columns.find((c) => words.some((w) => w.trim() === c.name));
  if (!column) return null;
  const from = position - (before.length - quote - 1);
  const values = column.top.map((t, i) => ({
    label: t.value, apply: t.value.replaceAll("'", "''"), detail: `${t.count.toLocaleString("en-US")} rows`, type: "constant", boost: -i,
  }));
  const paths = (column.paths ?? []).map((p) => ({ label: p.path, detail: p.type, type: "property" }));
  const options = [...values, ...paths];
  return options.length > 0 ? { from, options, validFor: /^[^']*$/ } : null;
}
