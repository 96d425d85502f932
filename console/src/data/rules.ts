// What retention rules mean: which of them an interval meets first, as the Coordinator decides it.

export interface Rule {
  type: string;
  period?: string;
  interval?: string;
  includeFuture?: boolean;
  tieredReplicants?: Record<string, number> | null;
  useDefaultTierForNull?: boolean;
}

/** The kinds of rules in the words of a form: what is done, and which segments are meant. */
export const actions = ["load", "drop", "broadcast"] as const;
export const whens = ["Forever", "ByPeriod", "ByInterval", "BeforeByPeriod"] as const;
export type Action = (typeof actions)[number];
export type When = (typeof whens)[number];

export function kindOf(rule: Rule): [Action, When] | undefined {
  const found = /^(load|drop|broadcast)(Forever|ByPeriod|ByInterval|BeforeByPeriod)$/.exec(rule.type);
  return found ? [found[1] as Action, found[2] as When] : undefined;
}

/** Makes a rule of a kind, keeping what both kinds have. */
export function ruleOf(action: Action, when: When, from: Rule): Rule {
  const rule: Rule = { type: action + when };
  if (when === "ByPeriod" || when === "BeforeByPeriod") rule.period = from.period ?? "P1M";
  if (when === "ByPeriod") rule.includeFuture = from.includeFuture ?? true;
  if (when === "ByInterval") rule.interval = from.interval ?? "2026-01-01/2027-01-01";
  if (action === "load") {
    rule.tieredReplicants = from.tieredReplicants ?? { _default_tier: 2 };
    rule.useDefaultTierForNull = from.useDefaultTierForNull ?? true;
  }
  return rule;
}

/** Says a rule in a sentence. */
export function sentence(rule: Rule): string {
  const kind = kindOf(rule);
  if (!kind) return rule.type;
  const [action, when] = kind;
  const meant = {
    Forever: "everything",
    ByPeriod: `the last ${rule.period ?? "?"}${rule.includeFuture === false ? "" : " and the future"}`,
    ByInterval: rule.interval ?? "?",
    BeforeByPeriod: `data older than ${rule.period ?? "?"}`,
  }[when];
  const copies = Object.entries(rule.tieredReplicants ?? {});
  if (action === "load") return `Load ${meant}: ${copies.length === 0 ? "no replicas, deep storage only" : copies.map(([tier, n]) => `${n} in ${tier}`).join(", ")}`;
  return `${action === "drop" ? "Drop" : "Broadcast"} ${meant}`;
}

const period = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** The instant that is a period before another, by the calendar of UTC; undefined: no period. */
export function before(at: number, text: string): number | undefined {
  const found = period.exec(text);
  if (!found || text === "P" || text.endsWith("T")) return undefined;
  const [years, months, weeks, days, hours, minutes, seconds] = found.slice(1).map((n) => Number(n ?? 0)) as [number, number, number, number, number, number, number];
  const date = new Date(at);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months - 12 * years);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return date.getTime() - ((weeks * 7 + days) * 86_400 + hours * 3600 + minutes * 60 + seconds) * 1000;
}

/** The ends of an ISO 8601 interval of two instants; undefined: it is none. */
export function ends(text: string): [number, number] | undefined {
  const parts = text.split("/");
  if (parts.length !== 2) return undefined;
  const [from, to] = parts.map((t) => Date.parse(/T|^\d{4}$/.test(t) && !/(Z|[+-]\d\d:?\d\d)$/.test(t) && t.includes("T") ? t + "Z" : t)) as [number, number];
  return Number.isNaN(from) || Number.isNaN(to) || from > to ? undefined : [from, to];
}

/** Whether a rule is about an interval at an instant. Load and broadcast rules match by overlap, drop rules by containment. */
export function matches(rule: Rule, from: number, to: number, now: number): boolean {
  const kind = kindOf(rule);
  if (!kind) return false;
  const [action, when] = kind;
  if (when === "Forever") return true;
  if (when === "ByInterval") {
    const own = ends(rule.interval ?? "");
    if (!own) return false;
    return action === "drop" ? own[0] <= from && to <= own[1] : own[0] < own[1] && own[0] < to && from < own[1];
  }
  const start = before(now, rule.period ?? "");
  if (start === undefined) return false;
  if (when === "BeforeByPeriod") return to <= start;
  const future = rule.includeFuture !== false;
  if (action === "drop") return start <= from && (future || to <= now);
  return start < to && (future || from < now);
}

/** The number of the first rule that is about an interval; -1: none is. */
export function first(rules: Rule[], from: number, to: number, now: number): number {
  return rules.findIndex((r) => matches(r, from, to, now));
}

/** What is wrong with a rule; empty: nothing that can be seen here. */
export function problem(rule: Rule): string {
  const kind = kindOf(rule);
  if (!kind) return `${rule.type || "A rule without a type"} is not supported by the form: edit it as JSON.`;
  if (kind[1] === "ByInterval" && !ends(rule.interval ?? "")) return "The interval must be START/END, such as 2026-01-01/2027-01-01.";
  if ((kind[1] === "ByPeriod" || kind[1] === "BeforeByPeriod") && before(0, rule.period ?? "") === undefined) return "The period must be an ISO 8601 period, such as P1M or P30D.";
  return "";
}
