// Tasks, supervisors, services.
import { join } from "node:path";
import { accessible, ask, check, open, shots, told, url } from "../harness.mjs";

export default {
  async "lists say how things are"() {
    const page = await open();
    await page.goto(`${url}/#/services`);
    await page.getByRole("row", { name: /^coordinator/ }).getByText("leads").waitFor();
    await page.goto(`${url}/#/query`);
    await ask(page, "SELECT 1");
    await told(page, /1 row in/);
    await page.evaluate(async () => {
      const spec = { type: "index_parallel", id: "fails", spec: { dataSchema: { dataSource: "fails", timestampSpec: { column: "t" }, dimensionsSpec: {} },
        ioConfig: { type: "index_parallel", inputSource: { type: "local", files: ["/nowhere"] }, inputFormat: { type: "json" } } } };
      await fetch("/service/indexer/v1/task", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(spec) });
    });
    await page.goto(`${url}/#/tasks`);
    const failed = page.getByRole("row", { name: /fails/ });
    await failed.getByText("FAILED").waitFor();
    await failed.getByText("nowhere").waitFor();
    await page.goto(`${url}/#/supervisors`);
    const tag = page.getByRole("row", { name: /^push_followed/ }).first().locator(".tag.good");
    await tag.waitFor();
    await page.screenshot({ path: join(shots, "supervisors-push-light-1280.png") });
    await page.getByLabel("Find by id").fill("no such");
    await page.getByText("Nothing matches").waitFor();
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "a task's log and report are read"() {
    const page = await open();
    await page.goto(`${url}/#/tasks`);
    await page.getByRole("row", { name: /SUCCESS/ }).last().locator("a.mono").click();
    for (const name of ["Log", "Report", "Payload"]) {
      await page.getByRole("tab", { name }).click();
      await page.getByRole("tabpanel", { name }).locator("pre, .cm-line").first().waitFor();
    }
    await page.screenshot({ path: join(shots, "task-light-1280.png") });
    await accessible(page, "task");
    await page.context().close();
  },
};
