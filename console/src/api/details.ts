// Answers that are shown as they are.
import { json as exact } from "./format";
import type { Value } from "./sql";

/** Whether an answer is JSON or a text. */
export function type(answer: Response): "json" | "text" {
  return (answer.headers.get("Content-Type") ?? "").includes("json") ? "json" : "text";
}

/** Writes a parsed answer with an indent and exact numbers. */
export function json(value: unknown): string {
  return exact(value as Value, 2);
}
