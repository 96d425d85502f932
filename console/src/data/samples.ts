// What a supervisor was at several moments: the server keeps averages, the page keeps these.

export interface Stats {
  [group: string]: {
    [task: string]: {
      totals?: Record<string, Counters>;
      movingAverages?: Record<string, Record<string, Counters>>;
    };
  };
}

export interface Counters {
  processed: number;
  processedBytes: number;
  processedWithError: number;
  thrownAway: number;
  unparseable: number;
}

export interface Sample {
  /** In milliseconds. */
  at: number;
  lag: number | null;
  lagMillis: number | null;
  /** How far the newest row is behind the clock. */
  behind: number | null;
  /** What each task has counted so far. */
  tasks: Record<string, Counters>;
}

const phase = "buildSegments";

/** The totals of each task. */
export function totalsOf(stats: Stats): Record<string, Counters> {
  const out: Record<string, Counters> = {};
  for (const tasks of Object.values(stats)) {
    for (const [id, task] of Object.entries(tasks)) {
      const totals = task?.totals?.[phase];
      if (totals) out[id] = totals;
    }
  }
  return out;
}

/** The sum over the tasks of an average that the server keeps: 1m, 5m or 15m. */
export function averageOf(stats: Stats, span: string): Counters {
  return sum(Object.values(stats).flatMap((tasks) => Object.values(tasks).flatMap((t) => t?.movingAverages?.[phase]?.[span] ?? [])));
}

export function sum(list: Counters[]): Counters {
  const out: Counters = { processed: 0, processedBytes: 0, processedWithError: 0, thrownAway: 0, unparseable: 0 };
  for (const c of list) for (const k of Object.keys(out) as (keyof Counters)[]) out[k] += c[k];
  return out;
}

/** How much a counter grew a second between two samples; tasks that are new count from 0. */
export function rate(before: Sample, after: Sample, of: keyof Counters): number {
  let n = 0;
  for (const [id, c] of Object.entries(after.tasks)) n += Math.max(0, c[of] - (before.tasks[id]?.[of] ?? 0));
  const seconds = (after.at - before.at) / 1000;
  return seconds <= 0 ? 0 : n / seconds;
}

const most = 900;
const kept = new Map<string, Sample[]>();

/** Keeps a sample of a supervisor as long as the page is open, and returns all of it. */
export function keepSample(id: string, sample: Sample): Sample[] {
  const list = [...(kept.get(id) ?? []), sample].slice(-most);
  kept.set(id, list);
  return list;
}

export function samplesOf(id: string): Sample[] {
  return kept.get(id) ?? [];
}
