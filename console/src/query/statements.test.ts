import { expect, test } from "vitest";
import { split, statementAt } from "./statements";

test.each([
  ["", []],
  [" ;; ", []],
  ["SELECT 1", ["SELECT 1"]],
  ["SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]],
  ["SELECT ';' AS a; SELECT \";\"", ["SELECT ';' AS a", 'SELECT ";"']],
  ["SELECT 'it''s;' -- ; no\n; SELECT 2", ["SELECT 'it''s;' -- ; no", "SELECT 2"]],
  ["/* ; */ SELECT 1; -- the end", ["/* ; */ SELECT 1"]],
  ["SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]],
  ["/* open; SELECT 2", []],
])("split %j", (text, want) => expect(split(text).map((s) => s.text)).toEqual(want));

test("the statement at the cursor", () => {
  const text = "SELECT 1;\n\nSELECT 2;\n";
  expect(statementAt(text, 0)?.text).toBe("SELECT 1");
  expect(statementAt(text, 10)?.text).toBe("SELECT 1"); // between two: the one before
  expect(statementAt(text, 13)?.text).toBe("SELECT 2");
  expect(statementAt(text, text.length)?.text).toBe("SELECT 2");
  expect(statementAt("", 0)).toBeUndefined();
});
