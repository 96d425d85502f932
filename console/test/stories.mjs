// The stories of the console in a real browser, against a real server. Each is what a person does
// and sees. usage: node test/stories.mjs URL SHOTS [STORY]; SHOTS is a folder for screenshots.
// The server has the datasource events of `henge sample --rows 20000`; so has that with users, which
// HENGE_SECURE and HENGE_SECURE_PASSWORD name. Each file of stories/ has
// those of one part; they run in the order of the names of the files.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { browser, only, shots } from "./harness.mjs";
import { keep } from "./pictures.mjs";

const dir = new URL("stories/", import.meta.url);
let failed = 0;
for (const file of readdirSync(dir).sort()) {
  const stories = (await import(new URL(file, dir))).default;
  for (const [name, story] of Object.entries(stories)) {
    if (only && !name.includes(only)) continue;
    const started = Date.now();
    try {
      await story();
      console.log(`ok   ${name} (${Date.now() - started} ms)`);
    } catch (e) {
      failed++;
      console.log(`FAIL ${name}: ${e.message}`);
      for (const page of browser.contexts().flatMap((c) => c.pages())) await page.screenshot({ path: join(shots, `failed-${failed}.png`) });
    }
    for (const context of browser.contexts()) await context.close();
  }
}
keep();
await browser.close();
process.exit(failed > 0 ? 1 : 0);
