import { expect, test } from "vitest";
import { faultOf } from "../ui/fault";
import { nextVersion, wrong } from "./spec";

test("the next version is later", () => {
  const now = new Date("2026-01-31T10:00:00Z");
  expect(["v1", "7", "release-9", "2026-01-01T00:00:00Z", "", undefined, null].map((v) => nextVersion(v, now))).toEqual([
    "v2", "8", "release-10", "2026-01-31T10:00:00.000Z", "v1", "v1", "v1",
  ]);
});

test("a draft says what is wrong with it", () => {
  const good = { tier: "__default", name: "country", version: "v2", text: '{"type":"map","map":{}}' };
  expect(wrong(good)).toBeUndefined();
  expect(wrong(good, { version: "v1" })).toBeUndefined();
  expect(wrong(good, { version: "v2" })).toContain("v2");
  expect(wrong({ ...good, tier: " " })).toContain("tier");
  expect(wrong({ ...good, name: "" })).toContain("name");
  expect(wrong({ ...good, version: "" })).toContain("version");
  expect(wrong({ ...good, text: "[]" })).toContain("object");
  expect(wrong({ ...good, text: '{"map":{}}' })).toContain("type");
  expect(wrong({ ...good, text: '{"type":\n "map",}' })).toMatch(/^Line 2, column \d+: /);
});

test("a fault of JSON has a place", () => {
  expect(faultOf('{"a": 1}')).toBeUndefined();
  expect(faultOf('{\n  "a": x\n}')).toMatch(/^Line 2, column 8: /);
  expect(faultOf("")).not.toBe("");
});
