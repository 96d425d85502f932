// Conditions that are added to a statement by a click.
import { ident, literal, type Column, type Value } from "../api/sql";
import { isTime } from "../api/format";

/** Writes the condition that a column has a value. */
export function equals(column: Column, value: Value): string {
  const name = ident(column.name);
  if (value === null) return `${name} IS NULL`;
  if (isTime(column.type) && typeof value === "string") return `${name} = ${timestamp(value)}`;
  if (typeof value === "object") return `${name} IS NOT NULL`;
  return typeof value === "string" ? `${name} = ${literal(value)}` : `${name} = ${value}`;
}

/** Writes the condition that a time lies in a range. */
export function between(column: Column, from: string, to: string): string {
  const name = ident(column.name);
  return `${name} >= ${timestamp(from)} AND ${name} < ${timestamp(to)}`;
}

function timestamp(instant: string): string {
  return `TIMESTAMP '${instant.replace("T", " ").replace("Z", "")}'`;
}

/**
 * Puts a condition around a statement: its columns are those that are seen, so that the condition
 * holds for whatever the statement does.
 */
export function where(statement: string, condition: string): string {
  const inner = statement.replace(/;\s*$/, "");
  const m = /^SELECT \*\nFROM \(\n([\s\S]*)\n\)\nWHERE ([\s\S]*)$/.exec(inner);
  if (m) return `SELECT *\nFROM (\n${m[1]}\n)\nWHERE ${m[2]}\n  AND ${condition}`;
  return `SELECT *\nFROM (\n${inner}\n)\nWHERE ${condition}`;
}
