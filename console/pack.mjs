// Packs the built files for the binary: each is compressed once and served as it is. It also holds
// the budgets: what the first page loads, and what each view that is loaded later adds.
// usage: node pack.mjs [FROM TO]
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [from = join(here, "dist"), to = join(here, "..", "internal", "console", "dist")] = process.argv.slice(2);
const budget = { script: 230_000, style: 15_000, view: 60_000 };

function files(dir) {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

rmSync(to, { recursive: true, force: true });
const sizes = new Map();
for (const path of files(from)) {
  const name = relative(from, path);
  const packed = gzipSync(readFileSync(path), { level: 9 });
  packed[9] = 255; // the operating system in the header: the same bytes everywhere
  mkdirSync(dirname(join(to, name)), { recursive: true });
  writeFileSync(join(to, name + ".gz"), packed);
  sizes.set(name, packed.length);
}

const page = readFileSync(join(from, "index.html"), "utf8");
const first = [...sizes].filter(([name]) => page.includes(name));
const sum = (end) => first.filter(([name]) => name.endsWith(end)).reduce((n, [, size]) => n + size, 0);
const over = [];
if (sum(".js") > budget.script) over.push(`script of the first page: ${sum(".js")} of ${budget.script} bytes`);
if (sum(".css") > budget.style) over.push(`style of the first page: ${sum(".css")} of ${budget.style} bytes`);
for (const [name, size] of sizes) {
  if (name.endsWith(".js") && !page.includes(name) && size > budget.view) over.push(`${name}: ${size} of ${budget.view} bytes`);
}
for (const [name, size] of [...sizes].sort((a, b) => b[1] - a[1])) console.log(String(size).padStart(8), name);
console.log(`first page: ${sum(".js")} bytes of script, ${sum(".css")} of style, compressed`);
if (over.length > 0) {
  console.error("over budget:\n  " + over.join("\n  "));
  process.exit(1);
}
