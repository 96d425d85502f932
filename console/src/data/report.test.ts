import { expect, test } from "vitest";
import { stagesOf } from "./report";

test("stages are read with the counters of all workers", () => {
  const channel = (rows: number, bytes: number, more = {}) => ({ type: "channel", rows: [rows], bytes: [bytes], ...more });
  const stages = stagesOf({
    multiStageQuery: {
      payload: {
        stages: [
          { stageNumber: 0, phase: "READING_INPUT", workerCount: 2, duration: 5, definition: { processor: { type: "scan" }, input: [{ type: "table", dataSource: "wiki" }] } },
          { stageNumber: 1, phase: "FINISHED", workerCount: 1, partitionCount: 3, definition: { processor: { type: "segmentGenerator" }, input: [{ type: "stage", stage: 0 }] } },
          { stageNumber: 2 },
        ],
        counters: {
          "0": {
            "0": { input0: channel(10, 100, { files: [1], totalFiles: [2] }), output: channel(5, 50), cpu: { type: "cpus", main: { cpu: 2_000_000 } } as never },
            "1": { input0: channel(20, 200, { files: [1], totalFiles: [2] }), sortProgress: { type: "sortProgress", progressDigest: 0.5 } },
          },
          "1": { "0": { segmentGenerationProgress: { type: "segmentGenerationProgress", rowsPushed: 7 } } },
        },
      },
    },
  });
  expect(stages.map((s) => [s.number, s.phase, s.reads, s.rowsIn, s.bytesIn, s.rowsOut, s.done])).toEqual([
    [0, "READING_INPUT", "wiki", 30, 300, 5, 0.5],
    [1, "FINISHED", "stage 0", 0, 0, 7, 1],
    [2, "NEW", "", 0, 0, 0, undefined],
  ]);
  expect(stages[0]!.cpuMillis).toBe(2);
  expect(stagesOf({})).toEqual([]);
});
