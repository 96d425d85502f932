import { expect, test } from "vitest";
import { metricsOf, sumOf } from "./metrics";

test("metrics are read with their labels", () => {
  const text = '# HELP a x\n# TYPE a counter\na_total{x="1",y="q\\"\\\\}"} 2\na_total{x="2"} 3.5\nb 7\na_total_more 9\nbroken{\n';
  const list = metricsOf(text, new Set(["a_total", "b", "broken"]));
  expect(list.map((m) => [m.name, m.labels, m.value])).toEqual([["a_total", { x: "1", y: 'q"\\}' }, 2], ["a_total", { x: "2" }, 3.5], ["b", {}, 7]]);
  expect([sumOf(list, "a_total"), sumOf(list, "none")]).toEqual([5.5, 0]);
});
