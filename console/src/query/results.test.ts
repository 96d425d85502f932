import { expect, test } from "vitest";
import type { Column, Row } from "../api/sql";
import { between, equals, where } from "./conditions";
import { tablesIn } from "./complete";
import { write } from "./copy";
import { readPlan } from "./plan";

const columns: Column[] = [
  { name: "a,b", type: "VARCHAR" },
  { name: "n", type: "BIGINT" },
];
const rows: Row[] = [
  ['say "hi"\n|', 9007199254740993n],
  [null, 2],
];

test.each([
  ["csv", '"a,b",n\n"say ""hi""\n|",9007199254740993\n,2\n'],
  ["tsv", 'a,b\tn\nsay "hi"\\n|\t9007199254740993\n\t2\n'],
  ["ndjson", '{"a,b":"say \\"hi\\"\\n|","n":9007199254740993}\n{"a,b":null,"n":2}\n'],
  ["json", '[{"a,b":"say \\"hi\\"\\n|","n":9007199254740993},\n{"a,b":null,"n":2}]\n'],
  ["markdown", '| a,b | n |\n| --- | --- |\n| say "hi" \\| | 9007199254740993 |\n|  | 2 |\n'],
] as const)("as %s", (format, want) => expect(write(format, columns, rows)).toBe(want));

test("a plan is read from its lines", () => {
  const plan = readPlan([
    "Sort [n desc] limit=3 (rows=3 bytes=78 time=1.459ms memory=1560)",
    "  Scan events [country] (rows=200000 bytes=3600000 time=0.216ms workers=2)",
    "3 rows; planning 0.158 ms",
  ]);
  expect(plan?.operators.map((o) => [o.depth, o.name, o.rows, o.ms, o.more])).toEqual([
    [0, "Sort [n desc] limit=3", 3, 1.459, ""],
    [1, "Scan events [country]", 200000, 0.216, "workers=2"],
  ]);
  expect(plan?.summary).toBe("3 rows; planning 0.158 ms");
  expect(readPlan(["nothing of the kind"])).toBeUndefined();
});

test("conditions narrow what a statement shows", () => {
  const n = { name: "n", type: "BIGINT" };
  const first = where("SELECT n FROM t;", equals(n, 9007199254740993n));
  expect(first).toBe('SELECT *\nFROM (\nSELECT n FROM t\n)\nWHERE "n" = 9007199254740993');
  expect(where(first, equals({ name: "c", type: "VARCHAR" }, null))).toBe(first + '\n  AND "c" IS NULL');
  expect(equals({ name: "c", type: "VARCHAR" }, "it's")).toBe("\"c\" = 'it''s'");
  expect(between({ name: "t", type: "TIMESTAMP" }, "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z")).toBe(
    "\"t\" >= TIMESTAMP '2026-01-01 00:00:00.000' AND \"t\" < TIMESTAMP '2026-01-02 00:00:00.000'",
  );
});

test("tables of a statement", () => {
  expect(tablesIn('SELECT * FROM a JOIN "b ""c" ON true LEFT JOIN sys.tasks t')).toEqual(["a", 'b "c', "sys.tasks"]);
});
