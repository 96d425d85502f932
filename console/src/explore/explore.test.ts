import { expect, test } from "vitest";
import { before, change, conditions, series, stepOf, top, totals, type Exploration } from "./sql";

const day = 864e5;
const from = Date.parse("2026-01-02T00:00:00Z");
const text = (name: string) => ({ name, type: "VARCHAR" });
const e: Exploration = {
  datasource: 'a "b" <i>', range: { from, to: from + day }, compare: false,
  dimensions: [text('c"d')], measures: [{ fn: "rows" }, { fn: "sum", column: "it's" }], filters: [],
};

test("names and values can't be anything else", () => {
  expect(totals(e)).toBe(`SELECT
  COUNT(*) AS "rows",
  SUM("it's") AS "sum of it's"
FROM "a ""b"" <i>"
WHERE "__time" >= TIMESTAMP '2026-01-02 00:00:00.000' AND "__time" < TIMESTAMP '2026-01-03 00:00:00.000'`);
  expect(conditions([
    { column: text('x"; DROP'), value: "' OR 1=1 --", not: false },
    { column: text('x"; DROP'), value: "b", not: false },
    { column: text("y"), value: null, not: false },
    { column: text("y"), value: "😀", not: true },
    { column: text("z"), value: null, not: true },
  ])).toEqual([
    `("x""; DROP" = ''' OR 1=1 --' OR "x""; DROP" = 'b')`, '"y" IS NULL', `("y" <> '😀' OR "y" IS NULL)`, '"z" IS NOT NULL',
  ]);
  expect(conditions([
    { column: { name: "n", type: "BIGINT" }, value: 9007199254740993n, not: false },
    { column: { name: "d", type: "DOUBLE" }, value: "NaN", not: false },
    { column: { name: "b", type: "BOOLEAN" }, value: true, not: false },
    { column: { name: "t", type: "TIMESTAMP" }, value: "2026-01-01T00:00:00.120Z", not: false },
  ])).toEqual(['"n" = 9007199254740993', `"d" = CAST('NaN' AS DOUBLE)`, '"b" = true', `"t" = TIMESTAMP '2026-01-01 00:00:00.120'`]);
});

test("the period before is as long, and ends where the range begins", () => {
  expect(before(e.range)).toEqual({ from: from - day, to: from });
  const sql = totals({ ...e, compare: true });
  expect(sql).toContain(`COUNT(*) FILTER (WHERE "__time" < TIMESTAMP '2026-01-02 00:00:00.000') AS "rows, before"`);
  expect(sql).toContain(`WHERE "__time" >= TIMESTAMP '2026-01-01 00:00:00.000' AND "__time" < TIMESTAMP '2026-01-03 00:00:00.000'`);
});

test("groups are ordered by what is asked for, and columns have names of their own", () => {
  const sql = top({ ...e, dimensions: [text("rows")], compare: true }, { measure: 0, by: "change", down: true }, 10);
  expect(sql).toContain('AS "rows 2"');
  expect(sql).toContain(`ORDER BY COALESCE(COUNT(*) FILTER (WHERE "__time" >= TIMESTAMP '2026-01-02 00:00:00.000'), 0) - COALESCE(`);
  expect(sql).toMatch(/\) DESC NULLS LAST\nLIMIT 10$/);
  expect(top(e, { measure: 5, by: "before", down: false }, 3)).toMatch(/ORDER BY COUNT\(\*\) ASC NULLS LAST\nLIMIT 3$/);
});

test("steps fit the range", () => {
  const step = (ms: number) => stepOf({ from: 0, to: ms })[0];
  expect([60e3, 36e5, day, 7 * day, 30 * day, 365 * day, 1e4 * day].map(step)).toEqual(["PT1S", "PT1M", "PT15M", "PT1H", "PT6H", "P7D", "P365D"]);
  expect(series(e, { fn: "p95", column: "ms" }, e.range)).toContain(`TIME_FLOOR("__time", 'PT15M', TIMESTAMP '2026-01-02 00:00:00.000') AS "time"`);
});

test("changes are exact, and none of nothing", () => {
  expect(change(9007199254740995n, 9007199254740993n)).toEqual({ by: 2n, share: 2 / 9007199254740993 });
  expect(change(15, 10)).toEqual({ by: 5, share: 0.5 });
  expect(change(5, -10)).toEqual({ by: 15, share: 1.5 });
  expect([change(5, 0), change(5, null), change(null, 5)]).toEqual([{ by: 5, share: undefined }, { by: 5, share: undefined }, { by: -5, share: -1 }]);
  expect([change(null, null), change("NaN", 1)]).toEqual([undefined, undefined]);
});
