import { expect, test } from "vitest";
import { guessFormat, learn } from "./ask";
import { clusterAdvice, granularityAdvice, keptOf, nameOf, samplerOf, schemaOf, sqlOf, supervisorOf, taskOf, timeSql, type Plan } from "./plan";
import { remedyOf } from "./run";
import { localOf } from "./source";
import { TimeWatch } from "./times";

const plan: Plan = {
  source: { label: "f", name: "f", wire: { type: "inline", data: "it's" } }, format: { type: "csv", findColumnsFromHeader: true },
  time: { column: "t", format: "iso", expression: 'TIME_PARSE("t")' }, untimed: 0, keepTime: false,
  fields: [{ name: "t", type: "VARCHAR" }, { name: 'a "b"', type: "VARCHAR" }, { name: "n", type: "BIGINT" }, { name: "tags", type: "VARCHAR ARRAY" }],
  edits: {}, flattened: [], filters: [], rollup: false, queryGranularity: "", datasource: "d", replace: true, segmentGranularity: "DAY", rowsPerSegment: 1000, cluster: [],
};

test("a statement names everything as it is", () =>
  expect(sqlOf(plan)).toBe(`REPLACE INTO "d" OVERWRITE ALL
SELECT
  TIME_PARSE("t") AS __time,
  "a ""b""",
  "n",
  "tags"
FROM TABLE(EXTERN(
  '{"type":"inline","data":"it''s"}',
  '{"type":"csv","findColumnsFromHeader":true}'
)) EXTEND ("t" VARCHAR, "a ""b""" VARCHAR, "n" BIGINT, "tags" VARCHAR ARRAY)
PARTITIONED BY DAY`));

test("a statement has all that was changed", () => {
  const p: Plan = {
    ...plan, replace: false, rollup: true, queryGranularity: "PT1H", untimed: 1, cluster: ["x"],
    edits: { 'a "b"': { rename: "x" }, n: { role: "sum", type: "DOUBLE" }, tags: { multi: true } },
    filters: [{ column: "n", operator: ">", value: "5" }, { column: "t", operator: "is not null", value: "" }],
    flattened: [{ name: "zip", path: "$.at.zip", type: "VARCHAR" }, { name: "", path: "$.", type: "VARCHAR" }],
  };
  const sql = sqlOf(p);
  for (const part of [
    'INSERT INTO "d"\n', `TIME_FLOOR(TIME_PARSE("t"), 'PT1H') AS __time`, '"a ""b""" AS "x"', 'ARRAY_TO_MV("tags") AS "tags"', 'COUNT(*) AS "count"', 'SUM("n") AS "n"', '"n" DOUBLE', '"zip" VARCHAR',
    `"flattenSpec":{"useFieldDiscovery":true,"fields":[{"type":"path","name":"zip","expr":"$.at.zip"}]}`, 'WHERE "n" > 5\n  AND "t" IS NOT NULL\n  AND TIME_PARSE("t") IS NOT NULL', 'GROUP BY 1, 2, "tags", 4\n',
    'CLUSTERED BY "x"',
  ])
    expect(sql).toContain(part);
  expect(schemaOf(p)).toMatchObject({
    dimensionsSpec: { dimensions: [{ type: "string", name: "x" }, { type: "string", name: "tags" }, { type: "string", name: "zip" }] },
    metricsSpec: [{ type: "count", name: "count" }, { type: "doubleSum", name: "n", fieldName: "n" }],
    transformSpec: { transforms: [{ name: "x", expression: '"a \\"b\\""' }], filter: { type: "and", fields: [{ type: "bound", dimension: "n", lower: "5", lowerStrict: true, ordering: "numeric" }, { type: "not" }] } },
    granularitySpec: { rollup: true, queryGranularity: { period: "PT1H" } },
  });
});

test("what is dropped, and the time, are no columns", () => {
  expect(keptOf({ ...plan, edits: { n: { drop: true } } }).map((k) => k.name)).toEqual(['a "b"', "tags"]);
  expect(keptOf({ ...plan, keepTime: true })[0]!.name).toBe("t");
});

test.each([
  [{ column: "", format: "iso" }, "TIMESTAMP '1970-01-01 00:00:00'"],
  [{ column: "n", format: "millis" }, 'MILLIS_TO_TIMESTAMP("n")'],
  [{ column: "t", format: "posix" }, 'MILLIS_TO_TIMESTAMP(CAST("t" AS BIGINT) * 1000)'],
  [{ column: "n", format: "yyyyMMdd" }, `TIME_PARSE(CAST("n" AS VARCHAR), 'yyyyMMdd')`],
  [{ column: "t", format: "d 'of' M" }, `TIME_PARSE("t", 'd ''of'' M')`],
])("the time of %j", (time, want) => expect(timeSql({ ...plan, time })).toBe(want));

test("specifications are of their kinds", () => {
  expect(taskOf(plan)).toMatchObject({ type: "index_parallel", spec: { ioConfig: { appendToExisting: false } } });
  const stream: Plan = { ...plan, source: { label: "s", name: "s", stream: "kafka", wire: { topic: "s" } } };
  expect(supervisorOf(stream)).toMatchObject({ type: "kafka", spec: { ioConfig: { type: "kafka", topic: "s", inputFormat: { type: "csv" } } } });
  expect(samplerOf(stream, 5)).toMatchObject({ type: "kafka", samplerConfig: { numRows: 5 } });
});

test.each([
  ["/data/flights.csv.gz", "flights"],
  ["s3://bucket/logs/**/*.parquet", "logs"],
  ["https://x.org/a%20b.json?x=1", "a_20b"],
  ["*.csv", "data"],
  ["C:\\x\\Köln 1.csv", "Köln_1"],
])("%s is called %s", (text, want) => expect(nameOf(text)).toBe(want));

test.each([
  ["/data/**/*.json", { type: "local", baseDir: "/data", filter: "**/*.json" }],
  ["/*.json", { type: "local", baseDir: "/", filter: "*.json" }],
  ["/data/", { type: "local", baseDir: "/data/", filter: "**" }],
  ["/a.csv, /b.csv", { type: "local", files: ["/a.csv", "/b.csv"] }],
])("path %s", (path, want) => expect(localOf(path)).toEqual(want));

test("columns and time are learnt from a sample", () => {
  const s = { numRowsRead: 2, numRowsIndexed: 2, logicalSegmentSchema: [{ name: "n", type: "LONG" }, { name: "j", type: "COMPLEX<json>" }],
    data: [{ input: { at: 1767225600000, n: 1, j: { a: 1 } } }, { input: { at: 1767225600001, n: 2, j: null } }, { error: "x" }] };
  expect(learn(s)).toEqual({
    fields: [{ name: "at", type: "VARCHAR" }, { name: "n", type: "BIGINT" }, { name: "j", type: "TYPE('COMPLEX<json>')" }], time: { column: "at", format: "millis" },
  });
});

test.each([
  [['{"a":1}'], "json"],
  [["", "a,b,c"], "csv"],
  [["a\tb"], "tsv"],
  [["word"], "regex"],
])("messages %j are %s", (texts, want) => expect(guessFormat(texts).type).toBe(want));

test("advice goes by the sample", () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({ 'a "b"': `v${i % 3}`, n: i }));
  expect(clusterAdvice(plan, rows)).toEqual([{ column: 'a "b"', distinct: 3 }]);
  expect(clusterAdvice(plan, rows.slice(0, 5))).toEqual([]);
  const day = 86_400_000;
  expect([0.01, 1, 300, 5000].map((d) => granularityAdvice(plan, 0, d * day).granularity)).toEqual(["HOUR", "DAY", "MONTH", "YEAR"]);
  expect(granularityAdvice({ ...plan, time: { column: "", format: "iso" } }, 0, day).granularity).toBe("ALL");
});

test("failures have remedies", () => {
  expect(remedyOf("Upload [x] does not exist")).toContain("Choose it again");
  expect(remedyOf("Input path [/etc] is outside the directories that ingestion may read")).toContain("allowedPaths");
  expect(remedyOf("/ by zero")).toContain("settings are kept");
});

test.each([
  [["2026-01-01", "2026-01-02T10:00:00Z"], "auto"],
  [["1767225600000"], "millis"],
  [["1767225600"], "posix"],
  [["2026-01-01", ""], ""],
  [["x"], ""],
])("times %j are %s", (values, want) => {
  const w = new TimeWatch();
  values.forEach((v) => w.add(v));
  expect(w.format()).toBe(want);
});
