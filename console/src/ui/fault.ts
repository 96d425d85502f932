// Where a text of JSON is wrong. Browsers differ in what they say of it, so the place comes from the
// syntax tree.
import { jsonLanguage } from "@codemirror/lang-json";

export interface Fault {
  /** Where it is, from 0. */
  at: number;
  /** A sentence with line and column, from 1. */
  text: string;
}

/** The first fault of a text of JSON, or undefined if there is none. */
export function faultIn(text: string): Fault | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    let at = text.length;
    jsonLanguage.parser.parse(text).iterate({ enter: (n) => void (n.type.isError && n.from < at && (at = n.from)) });
    const before = text.slice(0, at).split("\n");
    const found = text.slice(at).trimStart()[0];
    const what = text.trim() === "" ? "The text is empty." : found === undefined ? "The JSON is incomplete." : `Not valid JSON: ${found}`;
    return { at, text: `Line ${before.length}, column ${before.at(-1)!.length + 1}: ${what}` };
  }
}

/** The sentence of the first fault. */
export function faultOf(text: string): string | undefined {
  return faultIn(text)?.text;
}
