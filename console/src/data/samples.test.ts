import { expect, test } from "vitest";
import { averageOf, keepSample, rate, samplesOf, totalsOf, type Counters, type Sample, type Stats } from "./samples";

const counters = (processed: number): Counters => ({ processed, processedBytes: processed * 10, processedWithError: 0, thrownAway: 0, unparseable: 1 });

test("counters of all tasks are read", () => {
  const stats: Stats = {
    "0": { a: { totals: { buildSegments: counters(5) }, movingAverages: { buildSegments: { "1m": counters(2) } } }, b: {} },
    "1": { c: { totals: { buildSegments: counters(7) }, movingAverages: { buildSegments: { "1m": counters(3) } } } },
  };
  expect(Object.entries(totalsOf(stats)).map(([id, c]) => [id, c.processed])).toEqual([["a", 5], ["c", 7]]);
  expect(averageOf(stats, "1m").processed).toBe(5);
  expect(averageOf(stats, "5m").processed).toBe(0);
  expect(totalsOf({})).toEqual({});
});

test("a rate counts new tasks from 0, and never falls below it", () => {
  const at = (ms: number, tasks: Record<string, Counters>): Sample => ({ at: ms, lag: null, lagMillis: null, behind: null, tasks });
  expect(rate(at(0, { a: counters(10) }), at(2000, { a: counters(30), b: counters(6) }), "processed")).toBe(13);
  expect(rate(at(0, { a: counters(10) }), at(1000, { a: counters(4) }), "processed")).toBe(0);
  expect(rate(at(5, {}), at(5, { a: counters(4) }), "processed")).toBe(0);
});

test("samples are kept, the newest of them", () => {
  for (let i = 0; i < 1000; i++) keepSample("s", { at: i, lag: i, lagMillis: null, behind: null, tasks: {} });
  expect([samplesOf("s").length, samplesOf("s").at(-1)!.at, samplesOf("none").length]).toEqual([900, 999, 0]);
});
