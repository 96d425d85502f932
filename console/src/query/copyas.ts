// A query as something that runs it elsewhere.

export const kinds = { curl: "curl", psql: "psql", python: "Python" } as const;
export type Kind = keyof typeof kinds;

const shell = (text: string) => "'" + text.replaceAll("'", "'\\''") + "'";

/** Writes a text as a string of Python, over as many lines as it has. */
function pythonText(text: string): string {
  return '"""' + text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"').replace(/"$/, '\\"') + '"""';
}

/** Writes a statement as a command, or a program, that runs it at a server. */
export function as(kind: Kind, statement: string, origin: string): string {
  const query = statement.replace(/;\s*$/, "");
  const { hostname } = new URL(origin);
  switch (kind) {
    case "curl":
      return `curl -sS ${shell(`${origin}/service/v2/sql`)} -H 'Content-Type: application/json' \\\n  -d ${shell(JSON.stringify({ query, resultFormat: "objectLines" }))}\n`;
    case "psql":
      return `psql ${shell(`host=${hostname} port=5432 dbname=service`)} -c ${shell(query)}\n`;
    case "python":
      return `import json
import urllib.request

QUERY = ${pythonText(query)}

request = urllib.request.Request(
    ${JSON.stringify(`${origin}/service/v2/sql`)},
    data=json.dumps({"query": QUERY, "resultFormat": "objectLines"}).encode(),
    headers={"Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as answer:
    for line in answer:
        if line.strip():
            print(json.loads(line))
`;
  }
}
