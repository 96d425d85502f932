import { expect, test } from "vitest";
import { barsOf, intervalsOf, type Interval } from "./picture";

const day = 86_400_000;
const of = (from: number, to: number, more: Partial<Interval> = {}): Interval => ({ from: from * day, to: to * day, segments: 1, rows: 10, size: 100, loaded: 1, deep: 0, ...more });

test("bars are as fine as the intervals, and no more than asked for", () => {
  const { from, to, bars } = barsOf([of(0, 1), of(1, 2, { loaded: 0 }), of(3, 4)], 100);
  expect([from, to, bars.length]).toEqual([0, 4 * day, 4]);
  expect(bars.map((b) => [b.segments, b.loaded])).toEqual([[1, 1], [1, 0], [0, 0], [1, 1]]);
  expect(barsOf(Array.from({ length: 1000 }, (_, i) => of(i, i + 1)), 50).bars.map((b) => b.segments)).toEqual(Array(50).fill(20));
});

test("a segment for all of time does not hide the others", () => {
  expect(barsOf([of(0, 1), of(-100_000, 100_000)], 10).bars.length).toBe(1);
  expect(barsOf([of(-100_000, 100_000)], 10).bars.length).toBe(1);
  expect(barsOf([], 10).bars).toEqual([]);
});

test("names are quoted", () => {
  expect(intervalsOf("it's")).toContain("datasource = 'it''s'");
});
