// What a process measures, read from the text that it gives to Prometheus.

export interface Metric {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads the lines of some metrics: those whose names are wanted. */
export function metricsOf(text: string, wanted: Set<string>): Metric[] {
  const out: Metric[] = [];
  for (const line of text.split("\n")) {
    const end = line.search(/[{ ]/);
    if (end < 0 || !wanted.has(line.slice(0, end))) continue;
    const found = /^([^{ ]+)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, key, value] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[key!] = value!.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    out.push({ name: found[1]!, labels, value: Number(found[3]) });
  }
  return out;
}

/** The sum of a metric over its labels. */
export function sumOf(list: Metric[], name: string): number {
  return list.reduce((n, m) => (m.name === name ? n + m.value : n), 0);
}
