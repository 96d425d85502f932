// How values read for people.
import type { Value } from "./sql";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

/** Writes a count with separators: 1,234,567. */
export function count(n: number | bigint): string {
  return whole.format(n);
}

/** Writes a number of bytes in powers of 1,024: 1.5 MiB. */
export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (Math.abs(n) >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${short.format(n)} ${units[i]}`;
}

/** Writes a time span given in milliseconds: 12 ms, 3.4 s, 5 min 10 s. */
export function duration(ms: number): string {
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** Writes how long ago an instant was. */
export function ago(instant: string, now = Date.now()): string {
  const ms = now - Date.parse(instant);
  return Number.isNaN(ms) ? instant : ms < 1000 ? "now" : `${duration(ms)} ago`;
}

/** Writes an instant in a zone, in the order of ISO 8601, with its fraction only if there is one. */
export function instant(text: string, zone: string): string {
  const at = Date.parse(text);
  if (text.startsWith("-146136543-")) return "−∞"; // the ends of all time, as an interval of ALL has them
  if (text.startsWith("146140482-")) return "∞";
  if (Number.isNaN(at)) return text;
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat("en-CA", {
      timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
      hourCycle: "h23", fractionalSecondDigits: 3,
    })
      .formatToParts(at)
      .map((p) => [p.type, p.value]),
  );
  const fraction = parts.fractionalSecond === "000" ? "" : `.${parts.fractionalSecond}`;
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second}${fraction}`;
}

/** Writes a value as it is copied and exported: "" for NULL. */
export function plain(v: Value): string {
  if (v === null) return "";
  if (typeof v === "object") return json(v);
  return String(v);
}

/** Writes JSON with exact whole numbers. */
export function json(v: Value, indent?: number): string {
  const mark = "\u0000int:";
  const text = JSON.stringify(v, (_, x: unknown) => (typeof x === "bigint" ? mark + x : x), indent);
  return text.replace(/"\\u0000int:(-?\d+)"/g, "$1");
}

const numeric = new Set(["BIGINT", "INTEGER", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "REAL", "DECIMAL"]);

/** Whether values of a type are numbers, which stand at the right. */
export function isNumeric(type: string): boolean {
  return numeric.has(type);
}

/** Whether values of a type are instants. */
export function isTime(type: string): boolean {
  return type === "TIMESTAMP" || type === "DATE";
}
