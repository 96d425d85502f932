import { expect, test } from "vitest";
import type { Schemas } from "../api/types";
import { stacked, sumsOf } from "./chart";
import { as } from "./copyas";
import { bars, headsOf, share, type Statistics } from "./heads";
import { linkOf, onlyReads, readLink } from "./link";
import { cellsOf, partsOf } from "./pictures";
import { wordsOf } from "./progress";
import { suggestions } from "./suggest";

const of = (...types: string[]) => types.map((type, i) => ({ name: `c${i}`, type }));

test.each([
  [["TIMESTAMP", "BIGINT"], ["line", "bar"]],
  [["TIMESTAMP", "BIGINT", "DOUBLE"], ["line", "stack", "bar"]],
  [["TIMESTAMP", "VARCHAR", "BIGINT"], ["line", "stack", "heat", "bar", "pie"]],
  [["VARCHAR", "BIGINT"], ["bar", "pie"]],
  [["VARCHAR", "VARCHAR", "BIGINT"], ["heat", "bar", "pie"]],
  [["BIGINT", "DOUBLE"], ["line"]],
  [["VARCHAR"], []],
  [["BIGINT"], []],
])("charts of %j", (types, want) => expect(suggestions(of(...types)).map((s) => s.kind)).toEqual(want));

test("areas are put on top of each other", () => {
  expect(stacked([[1, null, 3], [10, 20, null]])).toEqual([[1, 0, 3], [11, 20, 3]]);
});

test("cells and parts have sums", () => {
  const rows = [["a", "x", 1], ["b", "x", 2n], ["a", "x", 3], ["a", null, 5], ["c", "y", null]];
  const cells = cellsOf(rows, 1, 0, 2);
  expect([cells.names, cells.values]).toEqual([["a", "b"], [[5, 4], [undefined, 2]]]);
  expect(sumsOf([["a", 1], [null, 2], ["a", 3], ["b", null]], 0, 1)).toEqual([{ label: "a", n: 4 }, { label: null, n: 2 }, { label: "b", n: null }]);
  expect(partsOf(rows, 0, 2)).toEqual([{ name: "a", n: 9 }, { name: "b", n: 2 }]);
  const many = Array.from({ length: 15 }, (_, i) => [`p${i}`, i + 1]);
  expect(partsOf(many, 0, 1).map((p) => p.n)).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7, 21]);
});

test("a query is written for other programs", () => {
  const sql = "SELECT 'it''s \\ \"\"\"' AS t;\n";
  expect(as("curl", sql, "http://h:8888")).toContain(`-d '{"query":"SELECT '\\''it'\\'''\\''s`);
  expect(as("psql", sql, "http://h:8888")).toMatch(/^psql 'host=h port=5432 dbname=service' -c 'SELECT '\\''it/);
  const python = as("python", sql, "http://h:8888");
  expect(python).toContain(`QUERY = """SELECT 'it''s \\\\ \\"\\"\\"' AS t"""`);
  expect(python).toContain('"http://h:8888/service/v2/sql"');
});

test("a link has the whole state", () => {
  const tab = { id: 1, name: "n", text: "SELECT 1 + 1 -- a&b#c", engine: "statement", shown: "chart", chart: "pie" } as const;
  const link = linkOf(tab, "Europe/Berlin")!;
  expect(readLink(link.split("?")[1]!)).toEqual({ sql: tab.text, engine: "statement", shown: "chart", chart: "pie", zone: "Europe/Berlin" });
  expect(readLink("sql=S&engine=x&as=y&chart=z&zone=No/Where")).toEqual({ sql: "S", engine: undefined, shown: undefined, chart: undefined, zone: undefined });
  expect(readLink("as=chart")).toBeUndefined();
  expect(linkOf({ ...tab, text: "x".repeat(20_000) }, "UTC")).toBeUndefined();
});

test.each([
  ["SELECT 1", true],
  ["-- a\n/* b */ WITH x AS (SELECT 1) SELECT * FROM x", true],
  ["(SELECT 1)", true],
  ["EXPLAIN ANALYZE SELECT 1", true],
  ["INSERT INTO a SELECT 1", false],
  ["-- SELECT\nREPLACE INTO a OVERWRITE ALL SELECT 1", false],
  ["EXPLAIN PLAN FOR INSERT INTO a SELECT 1", false],
  ["SET a = 1; INSERT INTO a SELECT 1", false],
  ["", false],
])("only reads: %j", (statement, want) => expect(onlyReads(statement)).toBe(want));

test("heads are those of columns with the same name and type", () => {
  const price = { name: "price", type: "DOUBLE", rows: 1000, nulls: 670, bytes: 1, top: [], topEstimated: false, histogram: [{ from: 0, to: 1, count: 5 }, { from: 1, to: 2, count: 10 }], distinctEstimated: true, boundsEstimated: false } satisfies Statistics;
  const known: Schemas["DataSourceStatistics"] = { dataSource: "events", segments: 1, describedSegments: 1, describedRows: 1000, sampled: false, columns: [price] };
  const heads = headsOf([{ name: "price", type: "DOUBLE" }, { name: "price", type: "VARCHAR" }, { name: "x", type: "DOUBLE" }], [null, undefined, known]);
  expect(heads.map((h) => h?.table)).toEqual(["events", undefined, undefined]);
  expect([bars(price), share(price), share({ ...price, nulls: 0 }), share({ ...price, rows: 100_000, nulls: 1 })]).toEqual([[0.5, 1], "67% NULL", "no NULL", "<0.1% NULL"]);
});

test("progress reads for people", () => {
  const p = { sqlQueryId: "q", state: "RUNNING", elapsedMs: 1, rowsReturned: 0, segments: 7, rows: 20_000, bytes: 9, segmentsRead: 3, rowsRead: 1234, bytesRead: 2048, memoryBytes: 0, percent: 6, etaMs: 5000 };
  expect(wordsOf(p)).toEqual(["1,234 of 20,000 rows", "2 KiB", "3 of 7 segments", "about 5.00 s left"]);
  expect(wordsOf({ ...p, etaMs: null, segments: 0 })).toEqual(["1,234 of 20,000 rows", "2 KiB"]);
});
