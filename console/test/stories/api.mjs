// The API view: found, read and tried.
import { accessible, check, faces, open, url } from "../harness.mjs";

export default {
  async "an operation is found, read and tried"() {
    const page = await open();
    await page.goto(`${url}/#/api`);
    await page.getByText(/^2\d\d operations$/).waitFor();
    await page.getByLabel("Find an operation").fill("sql runs rows post");
    await page.getByLabel("Find an operation").fill("POST /service/v2/sql");
    await page.getByRole("button", { name: "POST /service/v2/sql", exact: true }).click();
    const article = page.getByRole("article", { name: "POST /service/v2/sql" });
    await article.getByText("query: string // required, SQL text").first().waitFor();
    await article.getByLabel("Request body").click();
    await page.evaluate(() => navigator.clipboard.writeText(`{"query": "SELECT 9007199254740993 AS n, '<img src=x onerror=window.hit=1>' AS h"}`));
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Control+v");
    await article.getByRole("button", { name: "Send" }).click();
    const body = article.getByLabel("Response body");
    await body.filter({ hasText: '"n": 9007199254740993' }).waitFor();
    await article.getByText("200", { exact: false }).last().waitFor();
    await article.getByText(/\d+ headers/).click();
    await article.getByText("content-type: application/json").waitFor();
    check(!(await page.evaluate(() => window.hit)), "markup of an answer ran");
    await article.getByRole("button", { name: "Copy as curl" }).click();
    const line = await page.evaluate(() => navigator.clipboard.readText());
    check(line.startsWith("curl -X POST 'http") && line.includes(`'\\''<img`), `copied ${line}`);
    await faces(page, "api", 1400);
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "what deletes asks first, and parts of a path are escaped"() {
    const page = await open();
    await page.goto(`${url}/#/api?operation=deleteCoordinatorV1LookupsConfigTierLookup`);
    const article = page.getByRole("article");
    check(await article.getByRole("button", { name: "Send" }).isDisabled(), "a request without its parts can be sent");
    await article.getByLabel("tier", { exact: true }).fill("no such tier");
    await article.getByLabel("lookup", { exact: true }).fill('a/b "?');
    await article.getByText("DELETE /service/coordinator/v1/lookups/config/no%20such%20tier/a%2Fb%20%22%3F", { exact: true }).waitFor();
    let sent = 0;
    page.on("request", (r) => r.method() === "DELETE" && sent++);
    await article.getByRole("button", { name: "Send" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    check(sent === 0, "it was sent without an answer");
    await article.getByRole("button", { name: "Send" }).click();
    await accessible(page, "api, asking");
    await page.getByRole("dialog").getByRole("button", { name: "Send DELETE" }).click();
    await article.getByText(/^40[04]/).last().waitFor();
    check(sent === 1, `${sent} requests were sent`);
    await page.context().close();
  },
};
