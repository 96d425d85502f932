// Requests by the operations of the API document, with the types of what they take and answer.
import { call, type Answer } from "./client";
import type { Operations } from "./types";

type Part<K extends keyof Operations, Name extends string> = Operations[K] extends Record<Name, infer T> ? T : never;

/** What an operation takes. */
export type Parts<K extends keyof Operations> = ([Part<K, "path">] extends [never] ? { path?: undefined } : { path: Part<K, "path"> }) & {
  query?: Partial<Record<keyof Part<K, "query"> & string, string | number | boolean>>;
  body?: Part<K, "body">;
  /** What stands in front of the path, such as the proxy of a Router. */
  under?: string;
};

/** Writes the address of an operation. Its parts are escaped: a name may have any characters. */
export function address(operation: string, parts: { path?: object; query?: object; under?: string }): string {
  const path = operation.slice(operation.indexOf(" ") + 1);
  const values = (parts.path ?? {}) as Record<string, string>;
  const query = Object.entries(parts.query ?? {}).map(([k, v]) => `${encodeURIComponent(k)}=${encodeURIComponent(String(v))}`);
  return (parts.under ?? "") + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "")) + (query.length > 0 ? "?" + query.join("&") : "");
}

/** Asks for an operation, such as "GET /status", and returns the JSON of its answer. */
export function ask<K extends keyof Operations>(operation: K, parts: Parts<K>, signal?: AbortSignal): Promise<Answer<K>> {
  return call<Answer<K>>(operation.slice(0, operation.indexOf(" ")), address(operation, parts as { path?: object }), parts.body, signal);
}
