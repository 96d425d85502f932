// Pictures of pages are compared with ones that somebody has looked at, which baseline.json has as
// 64 by 40 cells of grey: fonts, numbers and times may differ, a panel that is missing, a broken
// layout or a wrong theme may not. HENGE_BASELINE=write takes the pictures of this run as the new
// ones: look at all of them first (HENGE_SHOTS names a folder for them).
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const path = new URL("baseline.json", import.meta.url);
const baseline = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
const anew = process.env.HENGE_BASELINE === "write";
const [columns, rows] = [64, 40];
// Text moves a cell by some 20 of 255, a panel by 50 and more over many cells.
const farOff = 48;
const mostFarOff = 0.06;

/** Takes a picture of a page into the folder shots. It throws when it does not resemble the known one of the name. */
export async function picture(page, shots, name) {
  const png = await page.screenshot({ path: join(shots, `${name}.png`) });
  const cells = await cellsOf(page, png);
  if (anew) {
    baseline[name] = Buffer.from(cells).toString("base64");
    return;
  }
  if (!baseline[name]) throw new Error(`there is no known picture ${name}: look at it, then run with HENGE_BASELINE=write`);
  const known = Buffer.from(baseline[name], "base64");
  const off = cells.filter((c, i) => Math.abs(c - known[i]) > farOff).length / cells.length;
  if (off > mostFarOff) throw new Error(`picture ${name} differs from the known one in ${Math.round(off * 100)} % of its cells`);
}

/** Writes the known pictures, if this run makes them. */
export function keep() {
  if (anew) writeFileSync(path, JSON.stringify(Object.fromEntries(Object.entries(baseline).sort()), null, 1) + "\n");
}

let easel; // a blank page, for a page of the console may not load data: images

async function cellsOf(page, png) {
  if (!easel || easel.isClosed()) easel = await page.context().browser().newPage(); // each story closes what is open
  return easel.evaluate(async ([data, w, h]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const context = new OffscreenCanvas(w, h).getContext("2d", { willReadFrequently: true });
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, w, h);
    const { data: rgba } = context.getImageData(0, 0, w, h);
    return Array.from({ length: w * h }, (_, i) => Math.round((rgba[4 * i] + rgba[4 * i + 1] + rgba[4 * i + 2]) / 3));
  }, [png.toString("base64"), columns, rows]);
}
