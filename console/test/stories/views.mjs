// Every view, and lists of what runs.
import { accessible, check, open, shots, url } from "../harness.mjs";
import { picture } from "../pictures.mjs";

const views = {
  home: ["/", "Home"],
  datasources: ["/datasources", "events"],
  segments: ["/segments", "available"],
  supervisors: ["/supervisors", "Supervisors"],
  tasks: ["/tasks", "SUCCESS"],
  services: ["/services", "coordinator"],
};

export default {
  async "every view shows what is there, in both themes, on a screen and a phone"() {
    for (const theme of ["light", "dark"]) {
      for (const [width, height] of [[1280, 800], [390, 780]]) {
        const page = await open({ viewport: { width, height }, colorScheme: theme });
        for (const [name, [path, text]] of Object.entries(views)) {
          await page.goto(`${url}/#${path}`);
          await page.getByRole("heading", { level: 1, name: new RegExp(name, "i") }).waitFor();
          await page.locator("main", { hasText: text }).waitFor();
          await page.waitForLoadState("networkidle").catch(() => {});
          await picture(page, shots, `${name}-${theme}-${width}`);
          if (width === 1280) await accessible(page, `${name}, ${theme}`);
        }
        check(page.problems.length === 0, page.problems.join("\n"));
        await page.context().close();
      }
    }
  },

  async "the first page is painted at once"() {
    const most = process.env.HENGE_FIGURES ? 300 : 3000; // ms; machines of tests are busy
    const times = [];
    for (let i = 0; i < 5; i++) {
      const page = await open();
      await page.goto(`${url}/`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity));
      await page.context().close();
    }
    const median = times.sort((a, b) => a - b)[2];
    console.log(`     first paint: median ${Math.round(median)} ms of ${times.length} loads`);
    check(median < most, `the first paint takes ${median} ms`);
  },
};
