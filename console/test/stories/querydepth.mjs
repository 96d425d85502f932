// The depth of the query view: progress, statistics, charts, saved queries, links, engines, exports.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, ask, check, faces, open, shots, told, type, url } from "../harness.mjs";

const hours = "SELECT TIME_FLOOR(__time, 'PT1H') AS hour, device, COUNT(*) AS n FROM events GROUP BY 1, 2 ORDER BY 1, 2";

async function shown(page, kind) {
  await page.getByRole("group", { name: "Kind of chart" }).getByRole("button", { name: kind }).click();
}

async function copied(page) {
  return page.evaluate(() => navigator.clipboard.readText());
}

export default {
  async "a query that takes long tells how far it is"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, 'SELECT COUNT(*) FROM events a, events b, events c WHERE a.duration_ms + b.duration_ms + c.duration_ms < 0');
    const bar = page.getByRole("progressbar", { name: "The query is running" });
    await page.getByText(/of [\d,]+ rows/).waitFor();
    await page.waitForFunction(() => document.querySelector('[role="progressbar"]')?.getAttribute("aria-valuenow") !== null);
    check((await bar.getAttribute("aria-valuemax")) === "100", "the bar has no end");
    await page.screenshot({ path: join(shots, "progress-light-1280.png") });
    await accessible(page, "progress");
    await page.getByRole("button", { name: /^Stop/ }).click();
    await told(page, /cancelled/);
    await bar.waitFor({ state: "detached" });
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "the head of a column says what is known of it"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, "SELECT __time, country, device, price, duration_ms FROM events LIMIT 200");
    await told(page, /200 rows in/);
    await page.getByRole("button", { name: "What is known of price" }).waitFor();
    await faces(page, "heads");
    await page.getByRole("button", { name: "What is known of price" }).click();
    await page.getByRole("img", { name: /Distribution of price/ }).waitFor();
    await page.screenshot({ path: join(shots, "head-price-light-1280.png") });
    await accessible(page, "what is known of a column");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "What is known of country" }).click();
    const dialog = page.getByRole("dialog", { name: "country" });
    await dialog.getByText("Different values").waitFor();
    await page.screenshot({ path: join(shots, "head-country-light-1280.png") });
    await dialog.locator("td button").first().click();
    await page.locator(".cm-content", { hasText: 'WHERE "country" =' }).waitFor();
    await told(page, / rows? in /);
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "charts of every kind fit their columns"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, hours);
    await told(page, / rows in /);
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.locator(".uplot canvas").waitFor();
    for (const kind of ["Stacked", "Heat map", "Pie", "Bar", "Line"]) {
      await shown(page, kind);
      const name = kind.toLowerCase().replace(" ", "-");
      if (kind === "Heat map") check((await page.getByRole("region", { name: "Heat map" }).locator("td").count()) > 20, "the map is empty");
      if (kind === "Pie") check((await page.locator(".pie path").count()) > 1, "the pie has no parts");
      await faces(page, `chart-${name}`);
    }
    // A range of a chart over the time becomes a condition.
    await page.locator(".u-over").waitFor(); // it is drawn anew after a change of the size
    const plot = await page.locator(".u-over").boundingBox();
    await page.mouse.move(plot.x + plot.width * 0.3, plot.y + 40);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width * 0.6, plot.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.locator(".cm-content", { hasText: 'WHERE "hour" >= TIMESTAMP' }).waitFor();
    await told(page, / rows in /);
    await page.locator(".uplot canvas").waitFor(); // it is still a chart
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "a query is saved, found, shared by a short link and changed"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    const name = `Hours ${Date.now()} <b>&</b> "quoted"`;
    await ask(page, hours);
    await told(page, / rows in /);
    await page.getByRole("tab", { name: "Chart" }).click();
    await shown(page, "Heat map");
    await page.getByRole("button", { name: "Saved" }).click();
    const dialog = page.getByRole("dialog", { name: "Saved queries" });
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await dialog.getByLabel("Shared").check();
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    const link = await dialog.getByRole("link").getAttribute("href");
    check(/#\/q\/[a-z0-9]{12}$/.test(link), `the link is ${link}`);
    await dialog.getByLabel("Find by name").fill("hours");
    await dialog.getByRole("button", { name: "Hours", exact: false }).first().waitFor();
    await faces(page, "saved");
    await page.context().close();

    const other = await open();
    await other.goto(link);
    await other.getByRole("region", { name: "Heat map" }).waitFor(); // the statement and how it was shown
    check((await other.locator(".tabs").innerText()).includes(name), "the tab has another name");
    await type(other, "SELECT 1 AS changed");
    await other.getByRole("button", { name: "Saved" }).click();
    await other.getByRole("button", { name: "Save changes" }).click();
    await other.getByText("Saved. Its link").waitFor();
    other.on("dialog", (d) => void d.accept());
    await other.getByLabel("Find by name").fill(name);
    await other.getByRole("button", { name: `Delete ${name}` }).click();
    await other.getByText("No name contains").waitFor();
    await other.keyboard.press("Escape");
    check(other.problems.length === 0, other.problems.join("\n"));
    await other.goto(`${url}/#/`);
    await other.goto(link);
    await other.getByRole("alert").filter({ hasText: "does not exist" }).waitFor();
    await other.context().close();
  },

  async "a link has the whole state, and what writes does not run by itself"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, hours);
    await told(page, / rows in /);
    await page.getByRole("tab", { name: "Chart" }).click();
    await shown(page, "Pie");
    await page.getByRole("button", { name: "Link" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const link = await copied(page);
    await page.context().close();
    const other = await open();
    await other.goto(link);
    await other.locator(".pie path").first().waitFor();
    await other.goto(`${url}/#/query?sql=${encodeURIComponent("REPLACE INTO nothing OVERWRITE ALL SELECT 1 PARTITIONED BY ALL")}&engine=task`);
    await other.locator(".cm-content", { hasText: "REPLACE INTO nothing" }).waitFor();
    check((await other.getByLabel("Run as").inputValue()) === "task", "the engine of the link is lost");
    await other.waitForTimeout(300);
    const tasks = await other.evaluate(async () => JSON.stringify(await (await fetch("/service/indexer/v1/tasks?datasource=nothing")).json()));
    check(tasks === "[]", `the link has begun ${tasks}`);
    check(other.problems.length === 0, other.problems.join("\n"));
    await other.context().close();
  },

  async "a query is taken along as a command and as a Parquet file"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, "SELECT country, 'it''s' AS t FROM events LIMIT 5");
    await told(page, /5 rows in/);
    for (const [kind, part] of [["curl", "curl -sS"], ["psql", "psql '"], ["python", "import urllib.request"]]) {
      await page.getByLabel("Copy the query as").selectOption(kind);
      await page.waitForFunction(async (p) => (await navigator.clipboard.readText()).includes(p), part);
    }
    await page.getByLabel("Format").selectOption("parquet");
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save", exact: true }).click()]);
    const bytes = readFileSync(await file.path());
    check(file.suggestedFilename() === "result.parquet" && bytes.subarray(0, 4).toString() === "PAR1" && bytes.subarray(-4).toString() === "PAR1", "it is no Parquet file");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "the same statement runs as a statement, and a load as a task"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await page.getByLabel("Run as").selectOption("statement");
    await ask(page, "SELECT device, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1");
    await told(page, / rows in /);
    check((await page.locator('[role="gridcell"]').count()) > 3, "the kept answer has no rows");
    await ask(page, "SELECT nope FROM events");
    await page.getByRole("alert").filter({ hasText: "nope" }).waitFor();
    await page.getByLabel("Run as").selectOption("task");
    await ask(page, "REPLACE INTO copied OVERWRITE ALL SELECT * FROM events LIMIT 10 PARTITIONED BY ALL");
    await page.locator('[role="gridcell"]', { hasText: "SUCCESS" }).waitFor();
    await page.screenshot({ path: join(shots, "task-engine-light-1280.png") });
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "values of a column are completed within a text"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await type(page, "SELECT COUNT(*) FROM events WHERE device = ");
    await page.keyboard.press("End");
    await page.keyboard.type("'");
    await page.keyboard.press("Control+Space");
    await page.locator(".cm-tooltip-autocomplete", { hasText: "rows" }).waitFor();
    await page.screenshot({ path: join(shots, "values-light-1280.png") });
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },
};
