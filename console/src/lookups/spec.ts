// What a lookup is, as it is written and checked before it is sent.
import type { Operations, Schemas } from "../api/types";
import { faultOf } from "../ui/fault";

export type Lookup = Schemas["Lookup"];
export type All = Operations["GET /service/coordinator/v1/lookups/config/all"]["answer"];

/** Examples of the kinds of lookups, to begin with. */
export const examples: Record<string, object> = {
  map: { type: "map", map: { de: "Germany", fr: "France" }, isOneToOne: false },
  "file or URL": {
    type: "cachedNamespace",
    extractionNamespace: {
      type: "uri", uri: "file:///path/to/names.json", pollPeriod: "PT10M",
      namespaceParseSpec: { format: "customJson", keyFieldName: "key", valueFieldName: "value" },
    },
  },
  database: {
    type: "cachedNamespace",
    extractionNamespace: {
      type: "jdbc", connectorConfig: { connectURI: "jdbc:postgresql://localhost:5432/db", user: "reader", password: { type: "environment", variable: "DB_PASSWORD" } },
      table: "names", keyColumn: "key", valueColumn: "value", pollPeriod: "PT10M",
    },
  },
};

/** The version behind another: of numbers the next one, else the time. */
export function nextVersion(version: string | null | undefined, now: Date): string {
  const m = /^(\D*)(\d{1,15})$/.exec(version ?? "");
  if (m) return `${m[1]}${Number(m[2]) + 1}`;
  return version ? now.toISOString() : "v1";
}

export interface Draft {
  tier: string;
  name: string;
  version: string;
  text: string;
}

/** What is wrong with a draft: undefined if it can be sent. */
export function wrong(d: Draft, before?: Lookup): string | undefined {
  if (d.tier.trim() === "") return "Enter a tier. __default is the tier of processes without another one.";
  if (d.name.trim() === "") return "Enter a name.";
  if (d.version.trim() === "") return "Enter a version. Processes load a lookup again when its version changes.";
  if (before && before.version === d.version) return `Version ${d.version} is the current version; a change needs a later one.`;
  const fault = faultOf(d.text);
  if (fault) return fault;
  const spec = JSON.parse(d.text) as unknown;
  if (spec === null || typeof spec !== "object" || Array.isArray(spec)) return "The specification must be an object.";
  if (typeof (spec as { type?: unknown }).type !== "string") return 'The specification needs a "type", such as "map".';
  return undefined;
}
