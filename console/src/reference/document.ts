// The API document, as the view reads it.

export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema;
  contentEncoding?: string;
}

export interface Content {
  schema?: JsonSchema;
  example?: unknown;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  allowEmptyValue?: boolean;
  schema?: JsonSchema;
}

export interface Response {
  $ref?: string;
  description?: string;
  content?: Record<string, Content>;
  headers?: Record<string, { description?: string }>;
}

export interface RawOperation {
  operationId: string;
  tags: string[];
  summary: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Content> };
  responses: Record<string, Response>;
  "x-permission"?: string;
  "x-internal"?: boolean;
  "x-any-method"?: boolean;
}

export interface Document {
  info: { version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, JsonSchema>; responses: Record<string, Response> };
}

export interface Operation extends RawOperation {
  method: string;
  path: string;
}

const order = ["get", "post", "put", "delete"];

/** The operations of a document by tag, each with its method and path. */
export function operationsOf(d: Document): Operation[] {
  const tag = new Map(d.tags.map((t, i) => [t.name, i]));
  const place = (o: Operation) => tag.get(o.tags[0] ?? "") ?? 0;
  return Object.entries(d.paths)
    .flatMap(([path, methods]) => Object.entries(methods).map(([method, o]) => ({ ...o, method: method.toUpperCase(), path })))
    .filter((o) => !/.\/$/.test(o.path)) // the same with a slash behind it
    .sort((a, b) => place(a) - place(b) || a.path.localeCompare(b.path) || order.indexOf(a.method.toLowerCase()) - order.indexOf(b.method.toLowerCase()));
}

/** Whether all words of a text stand in what an operation is called. */
export function fits(o: Operation, text: string): boolean {
  const all = `${o.method} ${o.path} ${o.summary} ${o.operationId} ${o.tags.join(" ")}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

/** What only reads although its method could change something: the ends of paths under the name of the product. */
const reads = ["/v2", "/v2/sql", "/v2/candidates", "/v1/sampler", "/v1/taskStatus", "/v1/lockedIntervals", "/v1/lockedIntervals/v2", "/v1/activeLocks", "/compaction/simulate", "/access/preview"];

/** Whether an operation is asked about before it is sent. */
export function changes(o: { method: string; path: string }): boolean {
  return o.method !== "GET" && !(o.method === "POST" && reads.some((end) => o.path.endsWith(end)));
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

const indentOf = (depth: number) => "  ".repeat(depth);

/** Writes a schema as a sketch of JSON, with what is known of each member behind it. */
export function sketch(s: JsonSchema | undefined, d: Document, depth = 0, seen: string[] = []): string {
  if (!s) return "any";
  if (s.$ref) {
    const name = nameOf(s.$ref);
    if (seen.includes(name) || depth > 5) return name;
    return sketch(d.components.schemas[name], d, depth, [...seen, name]);
  }
  if (s.enum) return s.enum.map((v) => JSON.stringify(v)).join(" | ");
  if (s.anyOf) return s.anyOf.map((o) => sketch(o, d, depth, seen)).join(" | ");
  if (Array.isArray(s.type)) return s.type.map((t) => sketch({ ...s, type: t }, d, depth, seen)).join(" | ");
  if (s.type === "array") return `[${sketch(s.items, d, depth, seen)}]`;
  if (s.type !== "object") return s.contentEncoding ? "bytes" : (s.type ?? "any");
  const members = Object.entries(s.properties ?? {});
  if (s.additionalProperties) members.push(["any name", s.additionalProperties]);
  if (members.length === 0) return "object";
  const lines = members.map(([name, of]) => {
    const about = [s.required?.includes(name) && "required", of.description].filter(Boolean).join(", ");
    return `${indentOf(depth + 1)}${name}: ${sketch(of, d, depth + 1, seen)}${about ? `  // ${about}` : ""}`;
  });
  return `{\n${lines.join("\n")}\n${indentOf(depth)}}`;
}

/** Makes a value that fits a schema, to begin with: required members only. */
export function example(s: JsonSchema | undefined, d: Document, depth = 0): unknown {
  if (!s || depth > 5) return null;
  if (s.$ref) return example(d.components.schemas[nameOf(s.$ref)], d, depth + 1);
  if (s.enum) return s.enum[0];
  if (s.anyOf) return example(s.anyOf[0], d, depth + 1);
  const type = Array.isArray(s.type) ? s.type[0] : s.type;
  if (type === "array") return [];
  if (type === "string") return "";
  if (type === "integer" || type === "number") return 0;
  if (type === "boolean") return false;
  if (type !== "object") return {};
  return Object.fromEntries((s.required ?? []).map((name) => [name, example(s.properties?.[name], d, depth + 1)]));
}

/** Follows the reference of a response. */
export function responseOf(r: Response, d: Document): Response {
  return r.$ref ? (d.components.responses[nameOf(r.$ref)] ?? r) : r;
}

export interface Values {
  path: Record<string, string>;
  query: Record<string, string>;
  header: Record<string, string>;
}

/** Writes the address of a request. A parameter without a value is left out; a flag has none. */
export function addressOf(o: Operation, v: Values): string {
  const path = o.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    // The rest of a path has parts of its own.
    const value = v.path[name] ?? "";
    return /^(rest|path)$/.test(name) ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value);
  });
  const query = (o.parameters ?? []).filter((p) => p.in === "query" && v.query[p.name] !== undefined && (v.query[p.name] !== "" || p.allowEmptyValue));
  return path + (query.length > 0 ? "?" + query.map((p) => encodeURIComponent(p.name) + (v.query[p.name] === "" ? "" : `=${encodeURIComponent(v.query[p.name]!)}`)).join("&") : "");
}

/** Writes a text for a shell: nothing in it means anything. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Writes a request as a line for a shell. */
export function curl(method: string, url: string, headers: Record<string, string>, body: string | undefined): string {
  const parts = ["curl", ...(method === "GET" ? [] : ["-X", method]), quoted(url)];
  for (const [name, value] of Object.entries(headers)) parts.push("-H", quoted(`${name}: ${value}`));
  if (body !== undefined) parts.push("--data-binary", quoted(body));
  return parts.join(" ");
}
