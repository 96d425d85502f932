// Datasources, segments, supervisors, tasks and services, one thing at a time.
import { join } from "node:path";
import { accessible, check, open, shots, url } from "../harness.mjs";

/** Sends a request as the page would, and returns the JSON of the answer. */
async function ask(page, method, path, body) {
  const answer = await page.request.fetch(url + path, {
    method,
    headers: { "Content-Type": typeof body === "string" ? "application/x-ndjson" : "application/json" },
    data: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  check(answer.ok(), `${method} ${path}: ${answer.status()} ${await answer.text()}`);
  const text = await answer.text();
  return text === "" ? undefined : JSON.parse(text);
}

const sql = (page, query) => ask(page, "POST", "/service/v2/sql", { query, resultFormat: "object" });

/** Asks until something holds; the server has a minute. */
async function until(what, holds) {
  for (const end = Date.now() + 60_000; ; ) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((r) => setTimeout(r, 20));
  }
}

async function ended(page, id) {
  return until(`the end of task ${id}`, async () => {
    const { status } = await ask(page, "GET", `/service/indexer/v1/task/${encodeURIComponent(id)}/status`);
    return status.statusCode === "RUNNING" ? undefined : status.statusCode;
  });
}

/** Makes a datasource of some days of events, a segment for each. */
async function made(page, name) {
  const { taskId } = await ask(page, "POST", "/service/v2/sql/task", {
    query: `REPLACE INTO "${name}" OVERWRITE ALL SELECT TIME_FLOOR(__time, 'PT1H') AS __time, country, COUNT(*) AS n FROM events GROUP BY 1, 2 PARTITIONED BY HOUR`,
  });
  check((await ended(page, taskId)) === "SUCCESS", "loading failed");
  await until(`${name} is loaded`, async () =>
    (await sql(page, `SELECT COUNT(*) AS n FROM sys.segments WHERE datasource = '${name}' AND is_available = 1`))[0].n > 0,
  );
  return taskId;
}

/** Looks at a place in both themes, on a screen and a phone. */
async function shown(name, path, text) {
  for (const theme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 800], [390, 780]]) {
      const page = await open({ viewport: { width, height }, colorScheme: theme });
      await page.goto(`${url}/#${path}`);
      await page.locator("main", { hasText: text }).waitFor();
      await page.waitForLoadState("networkidle").catch(() => {});
      await page.screenshot({ path: join(shots, `${name}-${theme}-${width}.png`) });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `${name} is ${wide} pixels too wide at ${width}`);
      if (width === 1280) await accessible(page, `${name}, ${theme}`);
      check(page.problems.length === 0, page.problems.join("\n"));
      await page.context().close();
    }
  }
}

const place = (view, params) => `/#${view}?${new URLSearchParams(params)}`;
const tab = (page, name) => page.getByRole("tab", { name, exact: true }).click();

export default {
  async "a datasource shows its segments over the time"() {
    await shown("datasource", "/datasources?name=events", "all copies of the rules are loaded");
    const page = await open();
    await page.goto(`${url}/#/datasources`);
    await page.getByRole("link", { name: "events", exact: true }).click();
    await page.getByRole("img", { name: /segments?, all loaded/ }).waitFor();
    await page.getByRole("button", { name: "Size", exact: true }).click();
    await page.getByText(/at most .* (KiB|MiB)/).waitFor();
    check(page.problems.length === 0, page.problems.join("\n"));
  },

  async "rules are edited, say what they would drop, and are compared with what they were"() {
    const page = await open();
    await ask(page, "POST", "/service/coordinator/v1/rules/events", []);
    await page.goto(url + place("/datasources", { name: "events", tab: "retention" }));
    await page.getByRole("button", { name: "Add a rule" }).click();
    const rule = page.getByRole("group", { name: "Rule 1" });
    await rule.getByLabel("Action").selectOption("drop");
    await page.getByRole("button", { name: "Review and save" }).click();
    const review = page.getByRole("region", { name: "Changes of rules" });
    await review.locator(".cm-changedLine", { hasText: "dropForever" }).waitFor();
    await review.getByRole("status").filter({ hasText: /the new rules drop [1-9]/ }).waitFor();
    await page.screenshot({ path: join(shots, "rules-review-light-1280.png") });
    await accessible(page, "rules");
    await rule.getByLabel("Segments").selectOption("BeforeByPeriod");
    await rule.getByLabel("Period").fill("100 years");
    await rule.getByText("The period must be").waitFor();
    await rule.getByLabel("Period").fill("P1000Y");
    await review.getByRole("status").filter({ hasText: "the new rules drop 0" }).waitFor();
    await review.getByLabel("Comment for the history").fill("nothing is that old: ü");
    await review.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    const [kept] = await ask(page, "GET", "/service/coordinator/v1/rules/events");
    check(kept.type === "dropBeforeByPeriod" && kept.period === "P1000Y", JSON.stringify(kept));
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("button", { name: /nothing is that old: ü/ }).first().click();
    await page.getByRole("region", { name: /^History/ }).locator(".cm-line", { hasText: "P1000Y" }).first().waitFor();
    await page.screenshot({ path: join(shots, "rules-history-light-1280.png") });
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await page.getByRole("textbox", { name: "rules", exact: true }).fill("[{");
    await page.getByText("Not valid JSON").waitFor();
    await page.getByRole("textbox", { name: "rules", exact: true }).fill("[]");
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    check((await ask(page, "GET", "/service/coordinator/v1/rules/events")).length === 0, "the rule is still there");
    check(page.problems.length === 0, page.problems.join("\n"));
  },

  async "compaction is switched on, and says what it does next and why not"() {
    const page = await open();
    await page.goto(url + place("/datasources", { name: "events", tab: "compaction" }));
    await page.getByRole("button", { name: "Compact it automatically" }).click();
    await page.getByRole("region", { name: "What compaction does next" }).getByText(/skip offset/).first().waitFor();
    await page.getByLabel(/Newest data to skip/).fill("P30D");
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.locator(".cm-changedLine", { hasText: "P30D" }).waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("region", { name: /^History/ }).getByRole("listitem").nth(1).waitFor();
    await page.screenshot({ path: join(shots, "compaction-light-1280.png"), fullPage: true });
    await accessible(page, "compaction");
    await page.getByRole("button", { name: "Switch off" }).click();
    await page.getByRole("button", { name: "Compact it automatically" }).waitFor();
    check(page.problems.filter((p) => !p.includes("404")).length === 0, page.problems.join("\n"));
  },

  async "segments become unused, are used again, and are deleted after a typed name"() {
    const page = await open();
    const name = "short <b>lived ü";
    await made(page, name);
    await page.goto(url + place("/datasources", { name, tab: "lifecycle" }));
    const [used, unused] = ["Used", "Unused"].map((n) => page.getByRole("region", { name: n, exact: true }));
    const figure = async (pile) => (await pile.locator(".figure").textContent()).trim();
    await used.locator(".figure").waitFor();
    const all = await figure(used);
    check(all !== "0", "nothing is used");
    await page.getByLabel(/Only segments within an interval/).fill("2026");
    await page.getByText("The interval must be START/END").waitFor();
    await page.getByLabel(/Only segments within an interval/).fill("");
    await used.getByRole("button", { name: "Mark unused…" }).click();
    const ask1 = page.getByRole("region", { name: "What becomes unused" });
    await ask1.getByText(`${all} segment`).waitFor();
    check(await ask1.getByRole("button", { name: "Mark unused" }).isDisabled(), "it can be done without the name");
    await ask1.getByLabel(/to confirm/).fill(name);
    await ask1.getByRole("button", { name: "Mark unused" }).click();
    await unused.locator(".figure", { hasText: all }).waitFor();
    await unused.getByRole("button", { name: "Use again…" }).click();
    await page.getByRole("region", { name: "What is used again" }).getByRole("button", { name: "Use again" }).click();
    await used.locator(".figure", { hasText: all }).waitFor();
    await used.getByRole("button", { name: "Mark unused…" }).click();
    await ask1.getByLabel(/to confirm/).fill(name);
    await ask1.getByRole("button", { name: "Mark unused" }).click();
    await unused.locator(".figure", { hasText: all }).waitFor();
    await unused.getByRole("button", { name: "Delete for good…" }).click();
    const ask2 = page.getByRole("region", { name: "What is deleted" });
    await ask2.getByText(/segments? \(.*(KiB|B), .* rows, from/).waitFor();
    await page.screenshot({ path: join(shots, "kill-light-1280.png") });
    await accessible(page, "kill");
    await ask2.getByLabel(/to confirm/).fill(name);
    await ask2.getByRole("button", { name: "Delete for good" }).click();
    const task = await page.getByRole("status").filter({ hasText: "deletes the segments" }).getByRole("link").textContent();
    check((await ended(page, task)) === "SUCCESS", "they were not deleted");
    const left = await ask(page, "GET", `/service/coordinator/v1/metadata/datasources/${encodeURIComponent(name)}/unusedSegments`);
    check(left.length === 0, `${left.length} segments are left`);
    check(page.problems.length === 0, page.problems.join("\n"));
  },

  async "a segment is taken apart"() {
    const page = await open();
    await page.goto(url + place("/segments", { datasource: "events" }));
    await page.getByRole("region", { name: "Segments", exact: true }).getByRole("button", { name: /^events_/ }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "country", exact: true }).click();
    await dialog.getByText(/codes of \d bytes/).waitFor();
    await page.screenshot({ path: join(shots, "anatomy-light-1280.png") });
    await accessible(page, "anatomy");
    await tab(page, "Why");
    await dialog.getByText(/load: /).first().waitFor();
    await tab(page, "Record");
    await dialog.getByText(/Servers that have it/).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.locator(".picture rect.hit").first().click();
    await page.getByText(/from 2026-01-01 .* until/).waitFor();
    await page.getByRole("region", { name: "Segments", exact: true }).getByRole("button", { name: /^events_/ }).first().waitFor();
    await page.getByRole("button", { name: "All segments" }).click();
    check(page.problems.length === 0, page.problems.join("\n"));
  },

  async "a supervisor is followed"() {
    const page = await open();
    const push = (rows) => ask(page, "POST", "/service/v2/ingest/followed?timeColumn=time&timeFormat=iso&ack=queryable&onError=skip", rows);
    const row = (n) => JSON.stringify({ time: new Date().toISOString(), n, text: `<i>${n}</i>` }) + "\n";
    await push(row(1));
    await push('{"time":"no time","n":2}\n');
    await page.goto(url + place("/supervisors", { id: "push_followed" }));
    await page.getByText("Server averages").first().waitFor();
    for (const name of ["Rows per second", "Records not read yet", "Age of the newest row"]) await page.getByRole("img", { name }).locator("canvas").waitFor();
    await accessible(page, "supervisor");
    await tab(page, "Errors");
    await page.getByRole("cell", { name: /no time/ }).first().waitFor();
    await tab(page, "Offsets");
    await page.getByRole("region", { name: "Offsets" }).getByRole("row").nth(1).waitFor();
    await tab(page, "Live tail");
    await page.getByRole("cell", { name: "<i>1</i>" }).first().waitFor();
    await push(row(12345));
    await page.getByRole("cell", { name: "<i>12345</i>" }).first().waitFor();
    await page.screenshot({ path: join(shots, "tail-light-1280.png") });
    await accessible(page, "tail");
    await page.getByRole("button", { name: "Reset…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("status").filter({ hasText: /records are skipped/ }).waitFor();
    check(await dialog.getByRole("button", { name: "Reset", exact: true }).isDisabled(), "a reset needs no name");
    await dialog.getByRole("button", { name: "Latest" }).click();
    await dialog.getByRole("status").filter({ hasText: /[1-9]\d* records are skipped|No partition/ }).waitFor();
    await page.screenshot({ path: join(shots, "reset-light-1280.png") });
    await accessible(page, "reset");
    await page.keyboard.press("Escape");
    await tab(page, "Specification");
    await page.locator(".cm-line", { hasText: '"type": "push"' }).first().waitFor();
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Suspend" }).waitFor();
    await tab(page, "History");
    await page.getByRole("region", { name: /^History/ }).getByRole("listitem").first().getByRole("button").click();
    await page.getByRole("region", { name: /^History/ }).locator(".cm-deletedChunk, .cm-changedLine").first().waitFor();
    await accessible(page, "history of a supervisor");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
    await shown("supervisor", "/supervisors?id=push_followed", "Server averages");
  },

  async "a task is followed, cancelled and run again"() {
    const page = await open();
    const query = `REPLACE INTO "followed task" OVERWRITE ALL SELECT a.__time, a.country, b.page, COUNT(*) AS n
FROM events a CROSS JOIN (SELECT page FROM events LIMIT 400) b GROUP BY 1, 2, 3 PARTITIONED BY ALL`;
    const { taskId } = await ask(page, "POST", "/service/v2/sql/task", { query });
    await page.goto(url + place("/tasks", { id: taskId }));
    await page.getByRole("region", { name: "Stages and counters" }).getByRole("row").nth(1).waitFor();
    await page.screenshot({ path: join(shots, "task-runs-light-1280.png") });
    await accessible(page, "a task that runs");
    await tab(page, "Log");
    await page.getByRole("log").getByText("task started").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await ended(page, taskId);
    await page.locator(".tag.bad", { hasText: "FAILED" }).first().waitFor();
    await page.getByRole("button", { name: "Run again…" }).click();
    const dialog = page.getByRole("dialog");
    const text = dialog.getByRole("textbox", { name: "Specification" });
    await text.waitFor();
    await text.fill(JSON.stringify({ query: query.replace("LIMIT 400", "LIMIT 1").replace("followed task", "followed again") }));
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    const again = await dialog.getByRole("status").getByRole("link").textContent();
    check((await ended(page, again)) === "SUCCESS", "it did not run again");
    await dialog.getByRole("status").getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: again }).waitFor();
    await page.locator(".stage-bar.done").last().waitFor();
    await tab(page, "Report");
    await page.locator(".cm-line", { hasText: "multiStageQuery" }).first().waitFor();
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.goto(`${url}/#/tasks?group=type`);
    await page.getByRole("region", { name: "Groups of tasks" }).getByRole("button", { name: "query_controller" }).click();
    await page.getByRole("button", { name: "Type: query_controller ×" }).waitFor();
    await page.screenshot({ path: join(shots, "tasks-grouped-light-1280.png") });
    await accessible(page, "groups of tasks");
    await page.goto(`${url}/`);
    await page.getByRole("region", { name: "Needs attention" }).getByText(/of type query_controller for followed task in the last day/).waitFor();
    await page.getByRole("region", { name: "Rates" }).getByText(/rows\/s ingested/).waitFor();
    await page.screenshot({ path: join(shots, "home-attention-light-1280.png") });
    await accessible(page, "home with a failed task");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
    await shown("task-one", `/tasks?id=${again}`, "FINISHED");
  },

  async "a worker is disabled and enabled, and the configuration has a history"() {
    const page = await open();
    await page.goto(`${url}/#/services?tab=queues`);
    await page.getByRole("region", { name: "Load queues" }).getByRole("row").nth(1).waitFor();
    await accessible(page, "load queues");
    await tab(page, "Workers");
    await page.getByRole("button", { name: "Disable" }).click();
    await page.locator(".tag.warn", { hasText: "no" }).waitFor();
    await page.getByRole("button", { name: "Enable" }).click();
    await page.locator(".tag.good", { hasText: "yes" }).waitFor();
    await page.screenshot({ path: join(shots, "workers-light-1280.png") });
    await accessible(page, "workers");
    await tab(page, "Configuration");
    const before = (await ask(page, "GET", "/service/coordinator/v1/config")).maxSegmentsToMove;
    for (const value of [before + 1, before]) {
      await page.getByLabel("maxSegmentsToMove", { exact: true }).fill(String(value));
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.locator(".cm-changedLine", { hasText: String(value) }).first().waitFor();
      await page.getByLabel("Comment for the history").fill(`to ${value}`);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Saved.").waitFor();
      check((await ask(page, "GET", "/service/coordinator/v1/config")).maxSegmentsToMove === value, "it was not saved");
    }
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("button", { name: new RegExp(`to ${before + 1}`) }).click();
    await page.getByRole("region", { name: /^History/ }).locator(".cm-editor").waitFor();
    await page.screenshot({ path: join(shots, "configuration-light-1280.png") });
    await accessible(page, "configuration");
    check(page.problems.length === 0, page.problems.join("\n"));
  },
};
