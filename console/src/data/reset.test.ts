import { expect, test } from "vitest";
import { effectOf } from "./reset";
import type { Places } from "./supervisor";

const places: Places = {
  stream: "orders", type: "kafka",
  earliestOffsets: { "0": 20, "1": 0 }, latestOffsets: { "0": 9007199254740993n, "1": 70 }, publishedOffsets: { "0": 120, "1": 70 },
  currentOffsets: { "0": 150 }, resetOffsets: { "0": 20, "1": 0 }, skippedByReset: {}, readAgainByReset: {},
};
const lines = (of: ReturnType<typeof effectOf>) => of.map((r) => `${r.partition}: ${r.from}>${r.to} -${r.skipped} +${r.again}`);

test("what a reset skips or reads again is counted exactly", () => {
  expect(lines(effectOf(places, "settings", {}))).toEqual(["0: 120>20 -0 +100", "1: 70>0 -0 +70"]);
  expect(lines(effectOf(places, "latest", {}))).toEqual(["0: 120>9007199254740993 -9007199254740873 +0", "1: 70>70 -0 +0"]);
  expect(lines(effectOf(places, "own", { "0": "130", "1": "" }))).toEqual(["0: 120>130 -10 +0", "1: 70>70 -0 +0"]);
  expect(lines(effectOf(places, "own", { "0": "x" }))).toEqual(["0: 120>x -undefined +undefined", "1: 70>70 -0 +0"]);
  expect(lines(effectOf({ ...places, type: "kinesis" }, "latest", {}))[0]).toContain("-undefined");
});
