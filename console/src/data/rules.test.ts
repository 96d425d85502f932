import { expect, test } from "vitest";
import { before, ends, first, matches, problem, ruleOf, sentence, type Rule } from "./rules";

const at = (text: string) => Date.parse(text);
const now = at("2026-03-31T12:00:00Z");
const day = (text: string): [number, number] => [at(text + "T00:00:00Z"), at(text + "T00:00:00Z") + 86_400_000];

test("periods follow the calendar", () => {
  expect(new Date(before(now, "P1M")!).toISOString()).toBe("2026-02-28T12:00:00.000Z");
  expect(new Date(before(now, "P1Y2M1W3DT4H5M6S")!).toISOString()).toBe("2025-01-21T07:54:54.000Z");
  for (const wrong of ["", "P", "PT", "1M", "P1", "P-1D", "P1M2Y"]) expect(before(now, wrong)).toBeUndefined();
});

test("intervals are read in UTC", () => {
  expect(ends("2026-01-01/2027-01-01")).toEqual([at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")]);
  expect(ends("2026-01-01T10:00/2026-01-01T11:00:00Z")).toEqual([at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")]);
  for (const wrong of ["", "2026", "2026-01-01/x", "2027-01-01/2026-01-01"]) expect(ends(wrong)).toBeUndefined();
});

test("load rules match by overlap, drop rules by containment", () => {
  const list: [Rule, string, boolean][] = [
    [{ type: "loadForever" }, "1999-01-01", true],
    [{ type: "loadByPeriod", period: "P1M" }, "2026-02-28", true], // it overlaps the beginning
    [{ type: "loadByPeriod", period: "P1M" }, "2026-02-27", false],
    [{ type: "loadByPeriod", period: "P1M" }, "2026-04-20", true],
    [{ type: "loadByPeriod", period: "P1M", includeFuture: false }, "2026-04-20", false],
    [{ type: "dropByPeriod", period: "P1M" }, "2026-02-28", false],
    [{ type: "dropByPeriod", period: "P1M" }, "2026-03-01", true],
    [{ type: "dropByPeriod", period: "P1M", includeFuture: false }, "2026-03-31", false], // it ends later than now
    [{ type: "dropBeforeByPeriod", period: "P1M" }, "2026-02-27", true],
    [{ type: "dropBeforeByPeriod", period: "P1M" }, "2026-02-28", false],
    [{ type: "loadByInterval", interval: "2026-01-01T12:00/2026-01-02" }, "2026-01-01", true],
    [{ type: "dropByInterval", interval: "2026-01-01T12:00/2026-01-02" }, "2026-01-01", false],
    [{ type: "dropByInterval", interval: "2026-01-01/2026-01-02" }, "2026-01-01", true],
    [{ type: "loadByInterval", interval: "nonsense" }, "2026-01-01", false],
    [{ type: "frob" }, "2026-01-01", false],
  ];
  for (const [rule, text, want] of list) expect([rule, text, matches(rule, ...day(text), now)]).toEqual([rule, text, want]);
});

test("the first rule decides", () => {
  const rules: Rule[] = [{ type: "loadByPeriod", period: "P1M" }, { type: "dropForever" }];
  expect([first(rules, ...day("2026-03-30"), now), first(rules, ...day("2026-01-30"), now), first([], ...day("2026-01-30"), now)]).toEqual([0, 1, -1]);
});

test("rules read as sentences, and say what is wrong", () => {
  expect(sentence({ type: "loadByPeriod", period: "P1M", tieredReplicants: { hot: 2, cold: 1 } })).toBe("Load the last P1M and the future: 2 in hot, 1 in cold");
  expect(sentence({ type: "loadForever", tieredReplicants: {} })).toContain("deep storage only");
  expect(sentence(ruleOf("drop", "BeforeByPeriod", { type: "" }))).toBe("Drop data older than P1M");
  expect([problem({ type: "x" }), problem({ type: "dropByPeriod", period: "1M" }), problem({ type: "dropByInterval" })].every(Boolean)).toBe(true);
  expect(problem(ruleOf("load", "ByPeriod", { type: "" }))).toBe("");
});
