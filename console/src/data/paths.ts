/** The path of what a supervisor is asked. */
export function supervisorPathOf(id: string, rest = ""): string {
  return `/service/indexer/v1/supervisor/${encodeURIComponent(id)}${rest}`;
}
