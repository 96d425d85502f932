// Times each interaction of the console on a server with 800 datasources and many segments.
// usage: node test/many.mjs URL LIMIT; LIMIT is how many milliseconds the console's own work may
// take: what the main thread of the page computes from the input to the frame that shows what was
// asked for. How long that took in all, with the answers of the server, is told beside it. Each
// interaction is done several times; the median counts.
import { chromium } from "playwright-core";

const [url, limit] = process.argv.slice(2);
const times = 5;
const browser = await chromium.launch({
  executablePath: process.env.HENGE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
page.setDefaultTimeout(120_000);
const problems = [];
page.on("pageerror", (e) => problems.push(e.message));

const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" }); // what others compute on this machine does not count

/** How long the main thread has computed, in milliseconds. */
async function computed() {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return metrics.find((m) => m.name === "TaskDuration").value * 1000;
}

await page.addInitScript(() => {
  let lists = 0; // that were asked for and have not come
  const plain = window.fetch;
  window.fetch = async (...args) => {
    const list = String(args[1]?.body ?? "").includes("LIMIT 51 OFFSET");
    if (list) lists++;
    try {
      return await plain(...args);
    } finally {
      if (list) lists--;
    }
  };
  window.settled = () => lists === 0;
  /** Does something, and waits for the frame after it shows. */
  window.timed = (act, shows) =>
    new Promise((resolve) => {
      const from = performance.now();
      act();
      // Looking costs, too: it is done when the page has changed, or an answer may have come.
      const end = () => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - from)));
      const look = () => {
        if (!shows()) return;
        clearInterval(timer);
        watch.disconnect();
        end();
      };
      const timer = setInterval(look, 100);
      const watch = new MutationObserver(look);
      watch.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    });
  window.sorted = (name) => !!head(name)?.closest("th").getAttribute("aria-sort");
  window.rows = (name) => [...document.querySelectorAll(`[role="region"][aria-label="${name}"] tbody tr`)];
  window.head = (name) => [...document.querySelectorAll("th button")].find((b) => b.textContent.trim().startsWith(name));
  window.button = (name) => [...document.querySelectorAll("button, [role=tab]")].find((b) => b.textContent.trim() === name);
  /** Types into a field as React sees it. */
  window.enter = (field, text) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  window.search = () => document.querySelector('main input[type="search"]');
  window.go = (to) => (location.hash = to);
});

/** Action, in the page, and what shows then; before says from where. */
const interactions = [
  ["open Datasources", "/services", () => go("/datasources"), () => rows("Datasources").length === 50],
  ["sort datasources by rows", "/datasources", () => head("Rows").click(), () => sorted("Rows") && settled() && rows("Datasources")[0].textContent.includes("source 799")],
  ["search a datasource", "/datasources", () => enter(search(), "source 77"), () => rows("Datasources").length === 10],
  ["next page of datasources", "/datasources", () => button("Next").click(), () => rows("Datasources")[0]?.textContent.includes("source 050")],
  ["open a datasource", "/datasources", () => rows("Datasources")[7].querySelector("a").click(), () => !!document.querySelector(".picture svg rect.bar")],
  ["open retention rules", "/datasources?name=source 007", () => button("Retention").click(), () => !!button("Add a rule")],
  ["open Segments", "/services", () => go("/segments"), () => rows("Segments").length === 50],
  ["sort segments by size", "/segments", () => head("Size").click(), () => sorted("Size") && settled() && rows("Segments")[0].textContent.includes("source 799")],
  ["search segments", "/segments", () => enter(search(), "source 123_"), () => settled() && rows("Segments").length > 0 && rows("Segments").every((r) => r.textContent.includes("source 123"))],
  ["next page of segments", "/segments", () => button("Next").click(), () => settled() && document.querySelector("main").textContent.includes("51 to 100")],
  ["open a segment", "/segments", () => rows("Segments")[3].querySelector("button.mono").click(), () => document.querySelector("dialog")?.textContent.includes("not in deep storage")],
  ["open Tasks", "/services", () => go("/tasks"), () => document.querySelector("main").textContent.includes("No tasks yet")],
  ["open the palette", "/services", () => dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true })), () => !!document.querySelector("dialog.palette li")],
];

await page.goto(url);
await page.getByRole("heading", { name: "Home" }).waitFor();
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
let slow = 0;
for (const [name, before, act, shows] of interactions) {
  const own = [], whole = [];
  for (let i = 0; i < times; i++) {
    await page.evaluate((to) => go(to), "/nowhere");
    await page.getByText("This view does not exist").waitFor();
    await page.evaluate((to) => go(to), before);
    const ready = { "/services": "Services", "/datasources": "Datasources", "/segments": "Segments" }[before];
    if (ready) await page.waitForFunction((r) => rows(r).length > 0 && settled(), ready);
    else await page.waitForFunction(() => !!button("Retention"));
    const from = await computed();
    whole.push(await page.evaluate(`timed(${act}, ${shows})`));
    own.push((await computed()) - from);
    await page.keyboard.press("Escape"); // what is open over the page
  }
  const [o, w] = [median(own), median(whole)];
  if (o > Number(limit)) slow++;
  console.log(`${o > Number(limit) ? "SLOW" : "ok  "} ${name.padEnd(26)} own work ${o.toFixed(0).padStart(4)} ms, with answers ${w.toFixed(0).padStart(6)} ms`);
}
await browser.close();
for (const p of problems) console.log(`script: ${p}`);
process.exit(slow > 0 || problems.length > 0 ? 1 : 0);
