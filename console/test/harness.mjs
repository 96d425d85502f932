// What all stories use: the browser, a page that watches itself, and words for what people do.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { picture } from "./pictures.mjs";

export const [url, shots, only] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const browser = await chromium.launch({
  executablePath: process.env.HENGE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});

/** A server with users and passwords, and the password of its admin. */
export const secure = { url: process.env.HENGE_SECURE ?? "", password: process.env.HENGE_SECURE_PASSWORD ?? "" };

/** Opens a page of the server with users, as one of them. */
export async function openAs(username, password, options = {}) {
  check(secure.url !== "", "HENGE_SECURE names no server with users");
  return open({ origin: secure.url, ignoreHTTPSErrors: true, httpCredentials: username && { username, password }, ...options });
}

export function check(holds, what) {
  if (!holds) throw new Error(what);
}

/** Opens a page that fails the story on any error of a script and on any request elsewhere. */
export async function open({ origin = url, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, bypassCSP: false, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  context.setDefaultTimeout(60_000); // machines may be busy
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (e) => page.problems.push(`script: ${e.message}`));
  page.on("console", (m) => m.type() === "error" && !/status of 4\d\d/.test(m.text()) && page.problems.push(`console: ${m.text()}`));
  page.on("request", (r) => !r.url().startsWith(origin) && !/^(data|blob):/.test(r.url()) && page.problems.push(`asks ${r.url()}`));
  return page;
}

/** Pastes a text over what the editor has. */
export async function type(page, text) {
  await page.locator(".cm-content").click();
  await page.evaluate((t) => navigator.clipboard.writeText(t), text);
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+v");
}

export async function ask(page, text) {
  await type(page, text);
  await page.keyboard.press("Control+Enter");
}

/** Waits for the line that says what became of a query. */
export async function told(page, pattern) {
  await page.locator('[role="status"]', { hasText: pattern }).first().waitFor();
  await page.locator(".results [aria-busy]").waitFor({ state: "detached" }); // what shows the rows is loaded with the first answer
}

/** Fails on anything that axe finds, or on what it finds by some rules only. */
export async function accessible(page, where, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const found = await page.evaluate((only) => axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: only }) }), rules);
  const lines = found.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.target} ${n.failureSummary}`));
  check(lines.length === 0, `${where} is not accessible:\n${lines.join("\n")}`);
}

/** Takes pictures of a page in both themes, on a screen and a phone. It has to fit, and axe finds nothing in either theme. */
export async function faces(page, name, height = 800) {
  for (const [theme, width] of [["light", 390], ["dark", 390], ["dark", 1280], ["light", 1280]]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height });
    await page.locator(`html[data-theme=${theme}]`).waitFor({ state: "attached" });
    await picture(page, shots, `${name}-${theme}-${width}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= width, `${name} is ${wide} pixels wide on a screen of ${width}`);
    // Of all rules, that of contrast alone depends on the theme.
    if (width === 1280) await accessible(page, `${name}, ${theme}`, theme === "dark" ? ["color-contrast"] : undefined);
  }
}
