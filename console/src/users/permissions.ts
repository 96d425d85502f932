// Permissions as they are edited: one line for a type and a pattern, with what it allows.
import type { AccessRule, ResourceAction } from "./data";

export const types = ["DATASOURCE", "STATE", "CONFIG", "EXTERNAL", "VIEW", "SYSTEM_TABLE", "QUERY_CONTEXT"];

export interface Column {
  name: string;
  /** What stands for it; "": it is not there at all. */
  mask: string;
}

/** A line of the editor. */
export interface Line {
  type: string;
  pattern: string;
  read: boolean;
  write: boolean;
  /** The condition of the rows that are shown; "": all. */
  rows: string;
  columns: Column[];
}

export const emptyLine: Line = { type: "DATASOURCE", pattern: "", read: true, write: false, rows: "", columns: [] };

/** Makes lines of permissions: READ and WRITE of the same resource are one, unless rules differ. */
export function linesOf(permissions: ResourceAction[]): Line[] {
  const lines: Line[] = [];
  for (const p of permissions) {
    const rule = p.policy ?? {};
    const columns = Object.entries(rule.columns ?? {}).map(([name, c]) => ({ name, mask: c.hide ? "" : (c.mask ?? "") }));
    const read = p.action === "READ";
    const other = lines.find((l) => l.type === p.resource.type && l.pattern === p.resource.name && (read ? !l.read : !l.write));
    if (!other) {
      lines.push({ type: p.resource.type, pattern: p.resource.name, read, write: !read, rows: rule.rows ?? "", columns });
    } else if (read) {
      Object.assign(other, { read: true, rows: rule.rows ?? "", columns });
    } else other.write = true;
  }
  return lines;
}

export function ruleOf(l: Line): AccessRule | undefined {
  if (!l.read || l.type !== "DATASOURCE" || (l.rows.trim() === "" && l.columns.length === 0)) return undefined;
  return {
    ...(l.rows.trim() === "" ? {} : { rows: l.rows.trim() }),
    ...(l.columns.length === 0 ? {} : { columns: Object.fromEntries(l.columns.map((c) => [c.name, c.mask.trim() === "" ? { hide: true } : { mask: c.mask.trim() }])) }),
  };
}

/** Makes permissions of lines, as the server takes them. */
export function permissionsOf(lines: Line[]): ResourceAction[] {
  return lines.flatMap((l) => {
    const resource = { name: l.pattern, type: l.type };
    const policy = ruleOf(l);
    return [...(l.read ? [{ resource, action: "READ" as const, ...(policy && { policy }) }] : []), ...(l.write ? [{ resource, action: "WRITE" as const }] : [])];
  });
}

/** What is wrong with lines; undefined: they can be sent. */
export function wrong(lines: Line[]): string | undefined {
  for (const l of lines) {
    if (l.pattern === "") return "A permission needs a pattern: the name of a resource, or .* for all.";
    if (!l.read && !l.write) return `The permission for ${l.pattern} allows nothing: choose READ or WRITE, or remove it.`;
    const names = l.columns.map((c) => c.name);
    if (names.includes("")) return `A rule of ${l.pattern} has no column name.`;
    if (new Set(names).size < names.length) return `A rule of ${l.pattern} has a column twice.`;
  }
  return undefined;
}

/** Writes permissions in few words. */
export function summary(permissions: ResourceAction[]): string {
  return linesOf(permissions)
    .map((l) => `${[l.read && "READ", l.write && "WRITE"].filter(Boolean).join(",")} ${l.type} ${l.pattern}${ruleOf(l) ? " (in part)" : ""}`)
    .join("; ");
}
