import { expect, test } from "vitest";
import { errorOf, parse } from "./client";
import { bytes, count, duration, instant, json, plain } from "./format";
import { ident, literal } from "./sql";

test("whole numbers are exact", () => {
  expect(parse("[9007199254740993,-9223372036854775808,12,1.5,1e20]")).toEqual([9007199254740993n, -9223372036854775808n, 12, 1.5, 1e20]);
  expect(parse('["9007199254740993","a\\"9007199254740993"]')).toEqual(["9007199254740993", 'a"9007199254740993']);
  expect(parse('{"a":[1234567890123456.5]}')).toEqual({ a: [1234567890123456.5] });
  expect(json([9007199254740993n, "x", null])).toBe('[9007199254740993,"x",null]');
});

test("errors are read of every shape", () => {
  const e = errorOf(400, '{"errorMessage":"no column","category":"INVALID_INPUT","context":{"line":"2","column":"8","endLine":"2","endColumn":"11"}}');
  expect([e.message, e.category, e.place]).toEqual(["no column", "INVALID_INPUT", { line: 2, column: 8, endLine: 2, endColumn: 11 }]);
  expect(errorOf(404, '{"error":"gone"}').message).toBe("gone");
  expect(errorOf(500, "plain text").message).toBe("plain text");
  expect(errorOf(502, "").message).toContain("502");
});

test("values read for people", () => {
  expect([count(1234567), count(12345678901234567890n)]).toEqual(["1,234,567", "12,345,678,901,234,567,890"]);
  expect([bytes(0), bytes(1536), bytes(5 * 2 ** 40)]).toEqual(["0 B", "1.5 KiB", "5 TiB"]);
  expect([0.0841, 12.6, 1500, 83_000, 7_260_000, 200_000_000].map(duration)).toEqual(["0.084 ms", "13 ms", "1.50 s", "1 min 23 s", "2 h 1 min", "2 d 7 h"]);
  expect(instant("2026-03-29T01:30:00.000Z", "Europe/Berlin")).toBe("2026-03-29 03:30:00");
  expect(instant("2026-03-29T01:30:00.120Z", "UTC")).toBe("2026-03-29 01:30:00.120");
  expect(instant("-146136543-09-08T08:23:32.096Z", "UTC")).toBe("−∞");
  expect(instant("146140482-04-24T15:36:27.903Z", "UTC")).toBe("∞");
  expect(instant("no time", "UTC")).toBe("no time");
  expect([plain(null), plain([1, "a"]), plain(false)]).toEqual(["", '[1,"a"]', "false"]);
});

test("texts and names are quoted", () => {
  expect([literal("it's"), ident('a"b')]).toEqual(["'it''s'", '"a""b"']);
});
