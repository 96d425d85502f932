// The query view.
import { join } from "node:path";
import { accessible, ask, check, open, shots, told, type, url } from "../harness.mjs";

export default {
  async "a query is written, run, and its rows are seen"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, "SELECT country, COUNT(*) AS n, SUM(price) AS total\nFROM events\nGROUP BY country\nORDER BY n DESC, country");
    await told(page, / rows? in /);
    check((await page.locator('[role="gridcell"]').count()) > 20, "the grid is empty");
    await page.screenshot({ path: join(shots, "query-light-1280.png") });
    await accessible(page, "query");
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.getByRole("region", { name: "Bars" }).waitFor();
    await page.screenshot({ path: join(shots, "chart-bars-light-1280.png") });
    await ask(page, "SELECT TIME_FLOOR(__time, 'PT1H') AS hour, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1");
    await told(page, / rows? in /);
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.locator(".uplot canvas").waitFor();
    await page.screenshot({ path: join(shots, "chart-lines-light-1280.png") });
    await accessible(page, "chart");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "an error is underlined where it is"() {
    const page = await open({ colorScheme: "dark" });
    await page.goto(`${url}/#/query`);
    await ask(page, "SELECT 1;\n\nSELECT nope\nFROM events");
    await page.getByRole("alert").filter({ hasText: "nope" }).waitFor();
    await page.locator(".cm-lintRange-error", { hasText: "nope" }).waitFor();
    await page.screenshot({ path: join(shots, "error-dark-1280.png") });
    await accessible(page, "error");
    await page.context().close();
  },

  async "a query that takes long is stopped, and the rows that came stay"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, 'SELECT a."user", b."user" FROM events a CROSS JOIN events b WHERE MOD(a.duration_ms * 31 + b.duration_ms * 17, 100003) = 5');
    await page.locator('[role="gridcell"]').first().waitFor();
    const before = Date.now();
    await page.getByRole("button", { name: /^Stop/ }).click();
    await told(page, /cancelled/);
    check(Date.now() - before < 1000, "it took more than a second to stop");
    check((await page.locator('[role="gridcell"]').count()) > 0, "the rows are gone");
    const running = await page.evaluate(async () => {
      for (let i = 0; i < 40; i++) {
        const { queries } = await (await fetch("/service/v2/sql/queries")).json();
        if (queries.length === 0) return 0;
        await new Promise((r) => setTimeout(r, 50));
      }
      return 1;
    });
    check(running === 0, "the query still runs on the server");
    await page.context().close();
  },

  async "EXPLAIN ANALYZE is a tree"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await type(page, "SELECT country, COUNT(*) FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 5");
    await page.getByRole("button", { name: "Analyze" }).click();
    await page.getByRole("region", { name: "Plan" }).filter({ hasText: "Scan events" }).waitFor();
    await page.screenshot({ path: join(shots, "plan-light-1280.png") });
    await accessible(page, "plan");
    await page.context().close();
  },

  async "values are exact, and no markup of theirs runs"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, `SELECT 9007199254740993 AS "big", CAST(NULL AS VARCHAR) AS "a ""quoted"" <b>name</b> 😀", '<img src=x onerror="window.hit=1">' AS html, '' AS empty`);
    await told(page, /1 row in/);
    const cells = await page.locator('[role="gridcell"]').allTextContents();
    check(cells[0] === "9007199254740993" && cells[1] === "NULL" && cells[2].startsWith("<img") && cells[3] === "", `cells ${JSON.stringify(cells)}`);
    check(!(await page.evaluate(() => window.hit)), "markup of a value ran");
    await page.getByLabel("Format").selectOption("json");
    await page.getByRole("button", { name: "Copy" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    check(copied.includes('"big":9007199254740993'), `copied ${copied}`);
    await page.context().close();
  },

  async "two thousand columns and a hundred thousand rows scroll"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    const columns = Array.from({ length: 2000 }, (_, i) => `${i} AS c${i}`).join(", ");
    await ask(page, `SELECT ${columns} FROM events LIMIT 20`);
    await told(page, /20 rows in/);
    const heads = await page.locator('[role="columnheader"]').count();
    check(heads < 60, `${heads} columns are in the document`);
    await ask(page, 'SELECT a."user", b."page", b.price FROM (SELECT * FROM events LIMIT 20000) a CROSS JOIN (SELECT * FROM events LIMIT 5) b');
    await told(page, /100,000 rows in/);
    await page.locator(".grid").evaluate((g) => (g.scrollTop = g.scrollHeight));
    await page.locator('[aria-rowindex="100000"]').waitFor();
    check((await page.locator('[role="row"]').count()) < 200, "rows that are not seen are in the document");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "tabs, text and history outlive a reload; a double click narrows"() {
    const page = await open();
    await page.goto(`${url}/#/query`);
    await ask(page, "SELECT country, device FROM events ORDER BY 1, 2 LIMIT 3");
    await told(page, /3 rows in/);
    await page.locator('[role="gridcell"]').first().dblclick();
    await page.locator(".cm-content", { hasText: "WHERE" }).waitFor();
    await told(page, / rows? in /);
    await page.waitForTimeout(500);
    await page.reload();
    check((await page.getByRole("group", { name: "Queries" }).getByRole("button", { name: /^Query/ }).count()) >= 2, "the tabs are gone");
    await page.locator(".cm-content", { hasText: "WHERE" }).waitFor();
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("region", { name: "Statements" }).filter({ hasText: "SELECT country, device" }).waitFor();
    await page.screenshot({ path: join(shots, "history-light-1280.png") });
    await accessible(page, "history");
    await page.context().close();
  },

  async "the keyboard alone finds a view, completes a name and runs"() {
    const page = await open();
    await page.goto(`${url}/`);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "A view or a datasource" }).waitFor();
    await page.keyboard.type("query");
    await page.keyboard.press("Enter");
    await page.locator(".cm-content").waitFor();
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("SELECT COUNT(*) FROM eve");
    await page.locator(".cm-tooltip-autocomplete", { hasText: "events" }).waitFor();
    await page.waitForTimeout(150); // the editor takes no Enter for a list that has just appeared
    await page.keyboard.press("Enter");
    await page.locator(".cm-content", { hasText: "events" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await told(page, /1 row in/);
    await page.context().close();
  },
};
