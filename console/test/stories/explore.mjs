// Explore: by clicks from a datasource to one of its values, and back.
import { check, faces, open, told, url } from "../harness.mjs";

/** A name that is none of what it looks like. */
const nasty = `a "b" 'c' <img src=x onerror="window.hit=1"> 😀 ${Date.now()}`;

/** Waits until no step is asked for any more. */
async function settled(page) {
  await page.locator("main section[aria-label=Totals][aria-busy=false]").waitFor();
  await page.locator("main section[aria-busy=true]").first().waitFor({ state: "hidden" });
}

const region = (page, name) => page.getByRole("region", { name });

export default {
  async "a datasource is explored by clicks, and each step is a statement"() {
    const page = await open();
    await page.goto(`${url}/#/explore?datasource=events`);
    await page.getByRole("button", { name: /^rows 2\d,\d{3}$/ }).waitFor();
    await page.locator(".uplot canvas").waitFor();
    await page.getByRole("button", { name: "country", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "sum of price" }).click();
    await page.getByRole("button", { name: "distinct of user" }).click();
    await page.getByRole("button", { name: "Last day" }).click();
    await page.getByLabel("Compare with the previous period").check();
    await region(page, "Groups").getByRole("button", { name: "change" }).first().click();
    await settled(page);
    check((await region(page, "Groups").getByRole("row").count()) === 11, "there are not ten groups");
    await faces(page, "explore", 1400);
    const value = region(page, "Groups").getByRole("row").nth(1).getByRole("button").first();
    const text = await value.textContent();
    await value.click();
    await page.getByRole("group", { name: "Filters" }).getByRole("button", { name: `country is ${text}`, exact: true }).waitFor();
    await settled(page);
    check((await region(page, "Groups").getByRole("row").count()) === 2, "the filter is not applied");
    await page.getByRole("button", { name: `country is ${text}`, exact: true }).click();
    await page.getByRole("button", { name: `country is not ${text}`, exact: true }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: `country is not ${text}`, exact: true }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: `country is ${text}`, exact: true }).waitFor();
    await settled(page);
    const totals = await page.getByRole("group", { name: "Measure in the chart" }).getByRole("button").first().locator(".figure").textContent();
    const step = page.locator("section[aria-label=Totals]");
    await step.getByText("SQL").click();
    await step.getByRole("link", { name: "Open in Query" }).click();
    await told(page, /1 row in/);
    const cell = await page.locator('[role="gridcell"]').first().textContent();
    check(cell === totals.replaceAll(",", ""), `the query has ${cell} rows, the view ${totals}`);
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "a statement that is superseded ends on the server"() {
    const page = await open();
    await page.goto(`${url}/#/explore?datasource=events`);
    await page.locator(".uplot canvas").waitFor();
    const ids = [];
    await page.route("**/service/v2/sql", async (route) => {
      const { query, context } = route.request().postDataJSON();
      if (query.includes("GROUP BY 1") && query.includes('"country"')) {
        ids.push(context.sqlQueryId);
        return; // it takes as long as the page lives
      }
      await route.continue();
    });
    const cancelled = page.waitForRequest((r) => r.method() === "DELETE" && ids.some((id) => r.url().endsWith(`/service/v2/sql/${id}`)));
    await page.getByRole("button", { name: "country", exact: true }).click();
    await page.locator("section[aria-busy=true]").waitFor();
    await page.getByRole("button", { name: "device", exact: true }).click();
    await cancelled;
    await page.context().close();
  },

  async "names and values of a datasource are only names and values"() {
    const page = await open();
    await page.goto(`${url}/#/load`);
    const cell = `"${nasty.replaceAll('"', '""')}"`;
    const rows = Array.from({ length: 50 }, (_, i) => `2026-01-01T10:00:${String(i).padStart(2, "0")}Z,${i % 5 === 0 ? "" : cell},${i}`);
    await page.getByLabel("File").setInputFiles({ name: "nasty.csv", mimeType: "text/csv", buffer: Buffer.from(`time,${cell},n\n${rows.join("\n")}\n`) });
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByLabel("Datasource").fill(nasty);
    await page.getByRole("button", { name: "Load", exact: true }).click();
    await page.getByText("50 rows are in").waitFor();
    await page.goto(`${url}/#/explore`);
    await page.getByLabel("Datasource").selectOption(nasty);
    await page.getByRole("button", { name: nasty, exact: true }).click();
    await region(page, "Groups").getByRole("button", { name: nasty, exact: true }).click();
    await page.getByRole("button", { name: "rows 40" }).waitFor();
    await page.getByRole("button", { name: `Remove ${nasty} is ${nasty}`, exact: true }).click();
    await region(page, "Groups").getByRole("button", { name: "NULL", exact: true }).click();
    await page.getByRole("button", { name: "rows 10" }).waitFor();
    check(!(await page.evaluate(() => window.hit)), "markup of a name ran");
    await page.getByRole("button", { name: "From, to" }).click();
    await page.getByLabel("From", { exact: true }).fill("2026-01-01 10:00:10");
    await page.getByLabel("to", { exact: true }).fill("2026-01-01 09:00");
    await page.getByText("ends before it starts").waitFor();
    await page.getByLabel("to", { exact: true }).fill("2026-01-01 10:00:20");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("button", { name: "rows 2" }).waitFor();
    await page.goto(`${url}/#/explore?datasource=${encodeURIComponent('no such "thing"')}`);
    await page.getByRole("alert").filter({ hasText: "no such" }).waitFor();
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },
};
