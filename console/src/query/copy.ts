// Results as texts: to the clipboard and into files.
import { json, plain } from "../api/format";
import type { Column, Row, Value } from "../api/sql";

export type Format = "csv" | "tsv" | "json" | "ndjson" | "markdown";

export const formats: Record<Format, { name: string; end: string; type: string }> = {
  csv: { name: "CSV", end: "csv", type: "text/csv" },
  tsv: { name: "TSV", end: "tsv", type: "text/tab-separated-values" },
  json: { name: "JSON", end: "json", type: "application/json" },
  ndjson: { name: "NDJSON", end: "ndjson", type: "application/x-ndjson" },
  markdown: { name: "Markdown", end: "md", type: "text/markdown" },
};

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function tabbed(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (c) => ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" })[c]!);
}

function object(columns: Column[], row: Row): string {
  return "{" + columns.map((c, i) => `${JSON.stringify(c.name)}:${json(row[i] ?? null)}`).join(",") + "}";
}

/** Writes rows in a format. */
export function write(format: Format, columns: Column[], rows: Row[]): string {
  const names = columns.map((c) => c.name);
  const lines = (cell: (v: string) => string, sep: string) =>
    [names.map(cell).join(sep), ...rows.map((r) => columns.map((_, i) => cell(plain(r[i] ?? null))).join(sep))].join("\n") + "\n";
  switch (format) {
    case "csv":
      return lines(quoted, ",");
    case "tsv":
      return lines(tabbed, "\t");
    case "json":
      return "[" + rows.map((r) => object(columns, r)).join(",\n") + "]\n";
    case "ndjson":
      return rows.map((r) => object(columns, r) + "\n").join("");
    case "markdown": {
      const cell = (v: Value | string) => (v === null ? "" : plain(v)).replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ");
      const line = (cells: string[]) => `| ${cells.join(" | ")} |\n`;
      return line(names.map(cell)) + line(names.map(() => "---")) + rows.map((r) => line(columns.map((_, i) => cell(r[i] ?? null)))).join("");
    }
  }
}

/** Offers a text as a file to save. */
export function download(name: string, type: string, text: string | Blob): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  URL.revokeObjectURL(url);
}

/** Puts rows into the clipboard, with a line of names if there are columns. */
export async function copyTSV(columns: Column[] | undefined, rows: Row[]): Promise<void> {
  const body = rows.map((r) => r.map((v) => tabbed(plain(v))).join("\t")).join("\n");
  await navigator.clipboard.writeText((columns ? columns.map((c) => c.name).join("\t") + "\n" : "") + body);
}
