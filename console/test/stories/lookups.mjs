// Lookups: made, changed, looked into and deleted.
import { check, faces, open, url } from "../harness.mjs";

/** Writes a text over that of the editor of JSON. */
async function write(page, text) {
  await page.getByLabel("Specification").click();
  await page.evaluate((t) => navigator.clipboard.writeText(t), text);
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+v");
}

export default {
  async "a lookup is made, its values are seen, and it is changed and deleted"() {
    const page = await open();
    const name = `a "b" <img src=x onerror="window.hit=1"> 😀 ${Date.now()}`;
    await page.goto(`${url}/#/lookups`);
    await page.getByRole("button", { name: "New lookup" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Enter a name.").waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await write(page, '{"type": "map", "map": {"k": }}');
    await dialog.getByText("Line 1, column 30").waitFor();
    check(await dialog.getByRole("button", { name: "Save" }).isDisabled(), "a text that is no JSON can be saved");
    const map = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`<b>${String(i).padStart(3, "0")}</b>`, `"value" ${i} 😀`]));
    await write(page, JSON.stringify({ type: "map", map }));
    await faces(page, "lookup-edit");
    await dialog.getByRole("button", { name: "Save" }).click();
    const row = page.getByRole("row").filter({ has: page.getByRole("button", { name, exact: true }) });
    await row.getByText("everywhere").waitFor();
    await faces(page, "lookups");
    await row.getByRole("button", { name, exact: true }).click();
    await dialog.getByRole("cell", { name: "<b>049</b>", exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Next" }).click();
    await dialog.getByRole("cell", { name: '"value" 50 😀', exact: true }).waitFor();
    await dialog.getByLabel("Find by key").fill("119");
    await dialog.getByRole("cell", { name: '"value" 119 😀', exact: true }).waitFor();
    await faces(page, "lookup-values");
    await dialog.getByRole("tab", { name: "Values" }).press("ArrowLeft");
    await dialog.getByRole("row", { name: /loaded v1/ }).waitFor();
    await page.keyboard.press("Escape");
    await row.getByRole("button", { name: /^Edit/ }).click();
    check((await dialog.getByLabel("Version").inputValue()) === "v2", "the next version is not suggested");
    await dialog.getByLabel("Version").fill("v1");
    await dialog.getByText("a change needs a later one").waitFor();
    await dialog.getByLabel("Version").fill("v0");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Version").fill("v2");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row.getByRole("cell", { name: "v2" }).waitFor();
    await row.getByRole("button", { name: /^Delete/ }).click();
    await page.keyboard.press("Enter"); // the keyboard is on the button that changes nothing
    await dialog.waitFor({ state: "hidden" });
    await row.getByRole("button", { name: /^Delete/ }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await row.waitFor({ state: "hidden" });
    check(!(await page.evaluate(() => window.hit)), "markup of a name ran");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },
};
