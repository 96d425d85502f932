// Users: a role with a rule, a user who has it, how things look to the user, keys, audit, log out.
import { check, faces, open, openAs, secure, url } from "../harness.mjs";

const mark = `<img src=x onerror="window.hit=1"> 😀`.replaceAll("/", "");
const tab = async (page, name) => {
  await page.getByRole("tablist", { name: "Parts of security" }).getByRole("tab", { name }).click();
  return page.getByRole("tabpanel", { name }).first();
};
const row = (page, name) => page.getByRole("row").filter({ hasText: name });

export default {
  async "without security the view says how to switch it on"() {
    const page = await open();
    await page.goto(`${url}/#/users`);
    await page.getByRole("heading", { name: /Security is off/ }).waitFor();
    await page.getByText("henge server --secure").waitFor();
    await faces(page, "users-off");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "a role with a rule is made, given to a user, and looked through"() {
    const page = await openAs("admin", secure.password);
    const dialog = page.getByRole("dialog");
    const role = `clerk 'of' "${Date.now()}" ${mark}`;
    const user = `bob 'x' "${Date.now()}" ${mark}`;
    await page.goto(`${secure.url}/#/users`);
    await page.getByText("You are admin").waitFor();
    await tab(page, "Roles");
    await page.getByRole("button", { name: "New role" }).click();
    await dialog.getByLabel("Name").fill("a/b");
    await dialog.getByText("cannot contain a slash").waitFor();
    await dialog.getByLabel("Name").fill(role);
    await page.keyboard.press("Enter");
    await dialog.getByText("The role has no permissions yet.").waitFor();
    await dialog.getByRole("button", { name: "Add permission" }).click();
    await dialog.getByText("A permission needs a pattern").waitFor();
    await dialog.getByLabel("Pattern").fill("(");
    await dialog.getByRole("button", { name: "Save permissions" }).click();
    await dialog.getByRole("alert").filter({ hasText: "does not compile" }).waitFor();
    await dialog.getByLabel("Pattern").fill("events");
    await dialog.getByRole("button", { name: "Rows and columns" }).click();
    await dialog.getByLabel("Only rows where").fill("no_such_column = 1");
    await dialog.getByRole("button", { name: "Save permissions" }).click();
    await dialog.getByRole("alert").filter({ hasText: "no_such_column" }).waitFor();
    await dialog.getByLabel("Only rows where").fill("country = CURRENT_USER_ATTRIBUTE('country')");
    await dialog.getByRole("button", { name: "Hide or mask a column" }).click();
    await dialog.getByLabel("Column 1", { exact: true }).fill("user");
    await dialog.getByRole("button", { name: "Hide or mask a column" }).click();
    await dialog.getByLabel("Column 2", { exact: true }).fill("page");
    await dialog.getByLabel("Shown instead of column 2").fill("'<b>masked</b>'");
    await dialog.getByRole("button", { name: "Save permissions" }).click();
    await dialog.getByText("Saved. It applies").waitFor();
    await faces(page, "users-role", 1000);
    await dialog.getByRole("button", { name: "Close" }).click();
    await row(page, role).getByText("READ DATASOURCE events (in part)").waitFor();
    await faces(page, "users-roles");

    await tab(page, "Users");
    await page.getByRole("button", { name: "New user" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("a:b");
    await dialog.getByText("cannot contain a slash").waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill(user);
    await dialog.getByLabel("Password").fill("bobs password");
    await dialog.getByLabel("Roles: name").fill(role);
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: `Remove ${role}`, exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Add", exact: true }).last().click();
    await row(page, user).getByText(role).waitFor();
    await faces(page, "users");
    await row(page, user).getByRole("button", { name: user, exact: true }).click();
    await dialog.getByRole("tab", { name: "Limits" }).click();
    await dialog.getByLabel("Rows per query").fill("-1");
    await dialog.getByText("a number above 0").waitFor();
    await dialog.getByLabel("Rows per query").fill("100000");
    await dialog.getByRole("button", { name: "Save limits" }).click();
    await dialog.getByText("Saved.").waitFor();
    await page.keyboard.press("Escape");

    await row(page, user).getByRole("button", { name: /^View as/ }).click();
    await page.getByLabel("Attributes").fill("country=DE");
    await page.getByRole("textbox", { name: "Datasource" }).fill("events");
    await page.getByRole("button", { name: "Look", exact: true }).click();
    const seen = page.getByRole("region", { name: "Result" });
    await seen.getByText("allowed", { exact: true }).waitFor();
    await seen.getByRole("row", { name: /^user VARCHAR hidden/ }).waitFor();
    await seen.getByRole("row", { name: /^page VARCHAR masked/ }).waitFor();
    const sample = seen.getByRole("region", { name: "Visible rows" });
    await sample.getByRole("cell", { name: "<b>masked</b>" }).first().waitFor();
    check((await sample.getByRole("cell", { name: "DE", exact: true }).count()) === 10, "rows of other countries are seen");
    check((await sample.getByRole("columnheader", { name: "user", exact: true }).count()) === 0, "a hidden column is seen");
    await faces(page, "users-view-as", 1400);
    await page.getByLabel("Look at").selectOption("query");
    await page.getByRole("textbox", { name: "Query" }).fill("SELECT server FROM sys.servers");
    await page.getByRole("button", { name: "Look", exact: true }).click();
    await seen.getByText("refused", { exact: true }).waitFor();
    await page.getByRole("link", { name: /EXPLAIN ACCESS FOR USER/ }).click();
    await page.getByRole("gridcell", { name: "STATE" }).first().waitFor();
    check(page.problems.length === 0, page.problems.join("\n"));

    // The user sees what was said, and which permission is missing for the rest.
    const other = await openAs(user, "bobs password");
    await other.goto(`${secure.url}/#/users`);
    await other.getByText("You are bob").waitFor();
    await other.getByText("This needs the permission READ CONFIG security.").waitFor();
    await other.goto(`${secure.url}/#/explore?datasource=events`);
    await other.getByText("No rows", { exact: false }).or(other.getByText("has no rows")).first().waitFor();
    check(!(await other.evaluate(() => window.hit)), "markup of a name ran");
    await other.context().close();

    await page.goto(`${secure.url}/#/users`);
    await row(page, user).getByRole("button", { name: /^Delete/ }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await row(page, user).waitFor({ state: "hidden" });
    await tab(page, "Groups");
    await page.getByRole("button", { name: "New mapping" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill(`staff ${mark}`);
    await dialog.getByLabel("Groups").fill("*,ou=Staff,dc=example,dc=com");
    await dialog.getByLabel("Roles: name").fill(role);
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Add", exact: true }).last().click();
    await row(page, "staff").getByText(role).waitFor();
    await faces(page, "users-groups");
    await row(page, "staff").getByRole("button", { name: /^Delete/ }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await row(page, "staff").waitFor({ state: "hidden" });
    await tab(page, "Roles");
    await row(page, role).getByRole("button", { name: /^Delete/ }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await row(page, role).waitFor({ state: "hidden" });
    check(!(await page.evaluate(() => window.hit)), "markup of a name ran");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "a key is made, seen once, used and revoked, and the audit tells of it"() {
    const page = await openAs("admin", secure.password);
    const dialog = page.getByRole("dialog");
    const purpose = `nightly ${Date.now()} ${mark}`;
    await page.goto(`${secure.url}/#/users`);
    await tab(page, "API keys");
    await page.getByRole("button", { name: "New key" }).click();
    await dialog.getByText("A key needs a role.").waitFor();
    await dialog.getByLabel("For").fill(purpose);
    await dialog.getByLabel("Roles").fill("admin");
    await dialog.getByLabel("Lasts").fill("for ever");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Lasts").fill("P1D");
    await dialog.getByRole("button", { name: "Create key" }).click();
    const secret = await dialog.getByLabel("Secret", { exact: true }).textContent();
    check(/^hg_\w+_\w+$/.test(secret), `the secret is ${secret}`);
    await faces(page, "users-secret");
    await dialog.getByRole("button", { name: "Close" }).click();
    const mine = row(page, purpose);
    await mine.getByText("never", { exact: true }).waitFor();
    check(!(await page.content()).includes(secret), "the secret is seen again");
    await faces(page, "users-keys");
    const ask = (key) =>
      page.evaluate(async (k) => {
        const answer = await fetch("/service-ext/access/self", { headers: { Authorization: `Bearer ${k}` }, credentials: "omit" });
        return [answer.status, answer.ok ? (await answer.json()).user : ""];
      }, key);
    const [status, who] = await ask(secret);
    check(status === 200 && secret.startsWith(who), `the key is answered with ${status}, as ${who}`);
    await mine.getByRole("button", { name: /^Replace/ }).click();
    await dialog.getByLabel("The old secret stays valid for").fill("");
    await dialog.getByRole("button", { name: "Create secret" }).click();
    const next = await dialog.getByLabel("Secret", { exact: true }).textContent();
    const [before] = await ask(secret);
    const [after] = await ask(next);
    check(next !== secret && before === 401 && after === 200, `of a replaced secret the old one is answered ${before}, the new one ${after}`);
    await page.keyboard.press("Escape");
    await mine.getByRole("button", { name: /^Revoke/ }).click();
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await mine.waitFor({ state: "hidden" });
    check((await ask(next))[0] === 401, "the key is good although it is revoked");

    await tab(page, "Audit");
    await page.getByRole("combobox", { name: "kind" }).selectOption("change");
    await page.getByLabel("Who, exactly").fill("admin");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("button", { name: /POST .*\/access\/keys/ }).first().click();
    await dialog.getByRole("row", { name: /Outcome success/ }).waitFor();
    await page.keyboard.press("Escape");
    await faces(page, "users-audit");
    await page.getByRole("combobox", { name: "outcome" }).selectOption("timeout");
    await page.getByText("No matching entries.").waitFor();
    check(!(await page.evaluate(() => window.hit)), "markup of a name ran");
    check(page.problems.length === 0, page.problems.join("\n"));
    await page.context().close();
  },

  async "who logs out is nobody"() {
    // Who is asked by the browser is nobody; what it keeps comes from an address.
    const page = await openAs("nobody", "nothing");
    const at = new URL("/service-ext/access/self", secure.url);
    [at.username, at.password] = ["admin", secure.password];
    await page.goto(at.href);
    await page.goto(`${secure.url}/#/users`);
    await page.getByText("You are admin").waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("Logged out.").waitFor();
    const status = await page.evaluate(async () => (await fetch("/service-ext/access/self")).status);
    check(status === 401, `behind the log out the status is ${status}`);
    await page.reload();
    await page.getByRole("button", { name: "Log in with user and password" }).waitFor();
    await faces(page, "logged-out");
    await page.context().close();
  },
};
