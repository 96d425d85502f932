// The load view. HENGE_PARQUET names a file of 5,000 rows, HENGE_S3 a store with the bucket loads,
// HENGE_KAFKA a server with the topic clicks: without them their stories are not told.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { accessible, ask, check, open, shots, told, url } from "../harness.mjs";

/** Sends a statement and returns the rows as arrays. */
async function rowsOf(query) {
  const answer = await fetch(`${url}/service/v2/sql`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query, resultFormat: "array" }),
  });
  check(answer.ok, await answer.clone().text());
  return await answer.json();
}

async function begin(options) {
  const page = await open(options);
  await page.goto(`${url}/#/load`);
  await page.getByRole("heading", { level: 1, name: "Load" }).waitFor();
  return page;
}

/** Waits for the preview of what was chosen. */
const previewed = (page) => page.getByRole("region", { name: "The first rows" }).waitFor();

async function load(page, datasource, text) {
  await page.getByRole("button", { name: "Next" }).click();
  if (datasource) await page.getByLabel("Datasource").fill(datasource);
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await page.getByText(text).waitFor({ timeout: 60_000 });
}

async function end(page) {
  check(page.problems.length === 0, page.problems.join("\n"));
  await page.context().close();
}

const name = (of) => `${of}_${Date.now()}`;

const stories = {
  async "an own file becomes a chart"() {
    const started = Date.now();
    const page = await begin();
    await page.screenshot({ path: join(shots, "load-source-light-1280.png") });
    await accessible(page, "load, source");
    const rows = Array.from({ length: 30000 }, (_, i) => `2026-01-${String(1 + (i % 28)).padStart(2, "0")} 10:00:00,"shop, ${i % 7}",${i},${i / 4},00${i % 9}`);
    const own = name("own");
    const file = { name: `${own}.csv`, mimeType: "text/csv", buffer: Buffer.from("when,shop,n,price,code\n" + rows.join("\n") + "\n") };
    await page.getByLabel("File").setInputFiles(file);
    await previewed(page);
    await page.screenshot({ path: join(shots, "load-data-light-1280.png"), fullPage: true });
    await accessible(page, "load, data");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Statement").waitFor();
    await page.getByText("values in 500 rows").first().waitFor();
    await page.screenshot({ path: join(shots, "load-store-light-1280.png"), fullPage: true });
    await accessible(page, "load, storage");
    await page.getByRole("button", { name: "Load", exact: true }).click();
    await page.getByText(`30,000 rows are in ${own}`).waitFor({ timeout: 60_000 });
    await page.getByRole("region", { name: "Stages" }).waitFor();
    await page.screenshot({ path: join(shots, "loaded-light-1280.png") });
    await accessible(page, "loaded");
    await page.getByRole("link", { name: "Look at a chart" }).click();
    await page.locator(".uplot canvas").first().waitFor();
    console.log(`     a file became a chart in ${((Date.now() - started) / 1000).toFixed(1)} s`);
    const got = await rowsOf(`SELECT COUNT(*), SUM(n), SUM(price), MIN(code), COUNT(DISTINCT shop), MIN(__time) FROM "${own}"`);
    check(got[0].join() === "30000,449985000,112496250,000,7,2026-01-01T10:00:00.000Z", `rows ${got}`);
    await end(page);
  },

  async "a pattern of files of the server is loaded, with columns, filters and rollup of one's own"() {
    const dir = mkdtempSync(join(tmpdir(), "henge-load-"));
    try {
      mkdirSync(join(dir, "a", "b"), { recursive: true });
      const lines = (from) => Array.from({ length: 400 }, (_, i) => JSON.stringify({ ts: 1767225600000 + i * 60000, city: `c${i % 4}`, n: from + i, at: { zip: `z${i % 2}` }, tags: ["x", `t${i % 3}`] })).join("\n");
      writeFileSync(join(dir, "a", "one.ndjson.gz"), gzipSync(lines(0)));
      writeFileSync(join(dir, "a", "b", "two.ndjson.gz"), gzipSync(lines(400)));
      writeFileSync(join(dir, "a", "b", "other.txt"), "not these");
      const page = await begin({ viewport: { width: 390, height: 780 } });
      await page.getByRole("button", { name: "Path on the server" }).click();
      await page.screenshot({ path: join(shots, "load-path-light-390.png") });
      await page.getByLabel("File, folder or pattern").fill(`${dir}/**/*.ndjson.gz`);
      await page.keyboard.press("Enter");
      await previewed(page);
      await page.getByText("in 2 files").waitFor();
      await page.getByRole("button", { name: "Add a column from nested data" }).click();
      await page.getByLabel("Name of the column").fill("zip");
      await page.getByRole("textbox", { name: "Path", exact: true }).fill("$.at.zip");
      await page.getByRole("region", { name: "The first rows" }).getByText("z1").first().waitFor();
      await page.getByLabel("Load at").uncheck();
      await page.getByLabel("Name of city").fill("town");
      await page.getByRole("button", { name: "Keep only some rows" }).click();
      await page.getByLabel("Column of the filter").selectOption("city");
      await page.getByLabel("Value", { exact: true }).fill("c1");
      await page.getByRole("columnheader", { name: "town" }).waitFor();
      await page.getByLabel("multi-value").check();
      await page.getByLabel("Roll up").check();
      await page.getByLabel("Times are cut to").selectOption("PT1H");
      await page.getByLabel("n becomes").selectOption("sum");
      await page.getByRole("columnheader", { name: "count" }).waitFor();
      await page.getByRole("region", { name: "The first rows" }).getByText("c1").first().waitFor();
      check((await page.getByRole("region", { name: "The first rows" }).getByText("c0").count()) === 0, "the filter keeps other rows");
      await page.screenshot({ path: join(shots, "load-data-light-390.png"), fullPage: true });
      await accessible(page, "load, data, phone");
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByLabel("Order also by").selectOption("town");
      const own = name("rolled");
      await page.getByLabel("Datasource").fill(own);
      await page.screenshot({ path: join(shots, "load-store-light-390.png"), fullPage: true });
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await page.getByText(/rows are in rolled/).waitFor({ timeout: 60_000 });
      await page.screenshot({ path: join(shots, "loaded-light-390.png") });
      const got = await rowsOf(`SELECT SUM("count"), SUM(n), MIN(town), MAX(town), MIN(zip), MIN(MV_LENGTH(tags)) FROM "${own}"`);
      // Of 800 rows every fourth: n is 1, 5, .. 797.
      check(got[0].join() === "200,79800,c1,c1,z1,2", `rows ${got}`);
      await end(page);
    } finally {
      rmSync(dir, { recursive: true });
    }
  },

  async "a type that does not hold all values is told, and a specification can be edited"() {
    const page = await begin();
    await page.getByRole("button", { name: "Text" }).click();
    await page.getByLabel("Text", { exact: true }).fill("t,price\n2026-03-01,1\n2026-03-02,abc\n");
    await page.getByRole("button", { name: "Look at the data" }).click();
    await previewed(page);
    await page.getByLabel("Type of price").selectOption("BIGINT");
    await page.getByText(/did not fit BIGINT; first in .*record 2: \[abc\]/).waitFor();
    await page.getByText("could not convert value [abc] to long").waitFor();
    await page.screenshot({ path: join(shots, "load-misfit-light-1280.png"), fullPage: true });
    await page.getByLabel("Type of price").selectOption("VARCHAR");
    await page.getByText(/did not fit/).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Next" }).click();
    const own = name("spec");
    await page.getByLabel("Datasource").fill(own);
    await page.getByRole("button", { name: "JSON" }).click();
    await page.locator('.cm-content[aria-label="Specification"]').waitFor();
    await page.screenshot({ path: join(shots, "load-spec-light-1280.png"), fullPage: true });
    await accessible(page, "load, specification");
    await page.getByRole("button", { name: "Load", exact: true }).click();
    await page.getByText(`2 rows are in ${own}`).waitFor({ timeout: 60_000 });
    // What fails is told with a remedy, and the settings are still there.
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByRole("button", { name: "Text" }).click();
    await page.getByLabel("Text", { exact: true }).fill("t,price\n2026-03-01,1\n");
    await page.getByRole("button", { name: "Look at the data" }).click();
    await previewed(page);
    await page.getByRole("button", { name: "Next" }).click();
    const statement = page.getByLabel("Statement");
    await statement.fill((await statement.inputValue()).replace('"price"\n', '1 / ("price" - "price") AS x\n'));
    await page.getByRole("button", { name: "Load", exact: true }).click();
    await page.getByText("Nothing was loaded").waitFor({ timeout: 60_000 });
    await page.getByRole("alert").waitFor();
    await page.screenshot({ path: join(shots, "load-failed-light-1280.png") });
    await accessible(page, "load, failed");
    await page.getByRole("button", { name: "Back to the settings" }).click();
    await page.getByLabel("Statement").waitFor();
    await end(page);
  },

  async "files that are no tables are refused in clear words"() {
    const page = await begin();
    const wrong = [
      ["junk.bin", Buffer.from(Array.from({ length: 4000 }, (_, i) => [1, 2, 5, 0, 254, 16][i % 6])), "is not text"],
      ["picture.csv", Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(100)]), "is an image (PNG)"],
      ["empty.csv", Buffer.alloc(0), "The file is empty"],
      ["header.csv", Buffer.from("a,b,c\n"), "has the names of columns, but no rows"],
    ];
    for (const [file, buffer, words] of wrong) {
      await page.getByLabel("File").setInputFiles({ name: file, mimeType: "application/octet-stream", buffer });
      await page.getByRole("alert").filter({ hasText: words }).waitFor();
    }
    await page.screenshot({ path: join(shots, "load-wrong-light-1280.png") });
    await accessible(page, "load, refused");
    await page.getByRole("button", { name: "Path on the server" }).click();
    await page.getByLabel("File, folder or pattern").fill("/nowhere/*.csv");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "/nowhere" }).waitFor();
    const odd = [
      ["latin1.csv", Buffer.from("t,city\n2026-01-01,K\u00f6ln\n", "latin1"), /not in UTF-8/],
      ["mark.csv", Buffer.from("\ufefft,city\n2026-01-01,Rom\n"), /2 columns, 1 record/],
      ["one.csv", Buffer.from("city\nRom\nBonn\n"), /1 column, 2 records/],
    ];
    for (const [file, buffer, words] of odd) {
      await page.getByRole("button", { name: "1. Source" }).click();
      await page.getByRole("button", { name: "Files of this machine" }).click();
      await page.getByLabel("File").setInputFiles({ name: file, mimeType: "text/csv", buffer });
      await previewed(page);
      await page.getByText(words).first().waitFor();
    }
    await end(page);
  },
};

if (process.env.HENGE_PARQUET) {
  stories["a Parquet file is dropped and becomes a chart"] = async () => {
    const page = await begin({ colorScheme: "dark" });
    const own = name("dropped");
    const data = readFileSync(process.env.HENGE_PARQUET).toString("base64");
    // A drop of a file, as a browser makes it of the desktop.
    const transfer = await page.evaluateHandle(([text, file]) => {
      const t = new DataTransfer();
      t.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], file));
      return t;
    }, [data, `${own}.parquet`]);
    await page.getByText("Drop files here").dispatchEvent("drop", { dataTransfer: transfer });
    await previewed(page);
    await page.getByText("Parquet, ").waitFor();
    await page.screenshot({ path: join(shots, "load-data-dark-1280.png"), fullPage: true });
    await accessible(page, "load, data, dark");
    await load(page, "", `5,000 rows are in ${own}`);
    await page.getByRole("link", { name: "Look at a chart" }).click();
    await page.locator(".uplot canvas").first().waitFor();
    await end(page);
  };
}

if (process.env.HENGE_S3) {
  stories["a prefix of an object store is loaded"] = async () => {
    const s3 = JSON.parse(process.env.HENGE_S3);
    const page = await begin();
    await page.getByRole("button", { name: "S3", exact: true }).click();
    await page.getByLabel("Objects or prefixes").fill("s3://loads/visits/");
    await page.getByLabel("Endpoint").fill(s3.url);
    await page.getByLabel("Access key").fill(s3.key);
    await page.getByLabel("Secret key").fill(s3.secret);
    await page.getByRole("button", { name: "Look at the data" }).click();
    await previewed(page);
    await page.getByText("in 2 files").waitFor();
    await load(page, name("visits"), /2 rows are in visits/);
    await end(page);
  };
}

if (process.env.HENGE_KAFKA) {
  stories["a topic becomes a supervisor that runs"] = async () => {
    const page = await begin();
    await page.getByRole("button", { name: "Kafka" }).click();
    await page.getByLabel("Bootstrap servers").fill(process.env.HENGE_KAFKA);
    await page.getByLabel("Topic").fill("clicks");
    await page.getByRole("button", { name: "Look at the data" }).click();
    await previewed(page);
    await page.screenshot({ path: join(shots, "load-stream-light-1280.png"), fullPage: true });
    await accessible(page, "load, stream");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Start the supervisor" }).click();
    await page.getByText("100 rows of the stream are in clicks").waitFor({ timeout: 60_000 });
    await page.screenshot({ path: join(shots, "load-stream-runs-light-1280.png") });
    await page.getByRole("link", { name: "Look at a chart" }).click();
    await page.locator(".uplot canvas").first().waitFor();
    await end(page);
  };
}

export default stories;
