import { expect, test } from "vitest";
import { addressOf, changes, curl, example, fits, operationsOf, sketch, type Document } from "./document";

const ok = { "200": {} };
const d: Document = {
  info: { version: "1" },
  tags: [{ name: "SQL" }, { name: "tasks" }],
  paths: {
    "/b/": { get: { operationId: "slash", tags: ["SQL"], summary: "", responses: ok } },
    "/b": { delete: { operationId: "del", tags: ["tasks"], summary: "Deletes b.", responses: ok }, get: { operationId: "get", tags: ["tasks"], summary: "Reads b.", responses: ok } },
    "/a/{id}/{path}": {
      post: {
        operationId: "post", tags: ["SQL"], summary: "Makes a.", responses: ok,
        parameters: [{ name: "id", in: "path" }, { name: "path", in: "path" }, { name: "max", in: "query" }, { name: "full", in: "query", allowEmptyValue: true }],
      },
    },
  },
  components: {
    responses: {},
    schemas: {
      Tree: { type: "object", required: ["name"], properties: { name: { type: "string", description: "of it" }, of: { type: "array", items: { $ref: "#/components/schemas/Tree" } }, n: { type: ["integer", "null"] }, kind: { enum: ["a", "b"] } } },
    },
  },
};

test("operations are by tag, each once", () => {
  expect(operationsOf(d).map((o) => `${o.method} ${o.path}`)).toEqual(["POST /a/{id}/{path}", "GET /b", "DELETE /b"]);
  const [post, get] = operationsOf(d);
  expect([fits(post!, "makes SQL"), fits(post!, "post a"), fits(get!, "makes"), fits(get!, "")]).toEqual([true, true, false, true]);
});

test("what changes something is asked about", () => {
  const of = (text: string) => changes({ method: text.split(" ")[0]!, path: text.split(" ")[1]! });
  expect(["DELETE /service/v2/sql/{id}", "PUT /x", "POST /service/indexer/v1/task"].map(of)).toEqual([true, true, true]);
  expect(["GET /status", "POST /service/v2/sql", "POST /druid/v2", "POST /service-ext/access/preview"].map(of)).toEqual([false, false, false, false]);
});

test("schemas are sketched, and end where they repeat", () => {
  expect(sketch({ $ref: "#/components/schemas/Tree" }, d)).toBe('{\n  name: string  // required, of it\n  of: [Tree]\n  n: integer | null\n  kind: "a" | "b"\n}');
  expect([sketch(undefined, d), sketch({ type: "object" }, d), sketch({ type: "object", additionalProperties: { type: "string" } }, d)]).toEqual(["any", "object", "{\n  any name: string\n}"]);
  expect(example({ $ref: "#/components/schemas/Tree" }, d)).toEqual({ name: "" });
});

test("addresses and shell lines have only what was meant", () => {
  const [post] = operationsOf(d);
  expect(addressOf(post!, { path: { id: "a/b c?", path: "x/y z" }, query: { max: "", full: "" }, header: {} })).toBe("/a/a%2Fb%20c%3F/x/y%20z?full");
  expect(addressOf(post!, { path: {}, query: { max: "1&2" }, header: {} })).toBe("/a//?max=1%262");
  expect(curl("POST", "http://h/x", { "Content-Type": "application/json" }, `{"a":"it's"}`)).toBe(
    `curl -X POST 'http://h/x' -H 'Content-Type: application/json' --data-binary '{"a":"it'\\''s"}'`,
  );
});
