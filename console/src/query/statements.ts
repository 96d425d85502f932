// Where statements begin and end in a text. Strings, names in quotes and comments may hold
// semicolons.

export interface Statement {
  from: number;
  to: number;
  text: string;
}

const skip = /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g;

/** Cuts a text into its statements, without those that are empty. */
export function split(text: string): Statement[] {
  const found: Statement[] = [];
  const add = (from: number, to: number) => {
    const part = text.slice(from, to);
    const lead = part.length - part.trimStart().length;
    const trimmed = part.trim();
    if (trimmed.replace(/--[^\n]*|\/\*[\s\S]*?(\*\/|$)/g, "").trim() === "") return;
    found.push({ from: from + lead, to: from + lead + trimmed.length, text: trimmed });
  };
  let from = 0;
  for (const m of text.matchAll(skip)) {
    if (m[0] !== ";") continue;
    add(from, m.index);
    from = m.index + 1;
  }
  add(from, text.length);
  return found;
}

/** Returns the statement that a position is in or behind, else the first one. */
export function statementAt(text: string, position: number): Statement | undefined {
  const all = split(text);
  return all.findLast((s) => s.from <= position) ?? all[0];
}
