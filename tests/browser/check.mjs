// Opens a page in headless Chromium and says as JSON what the browser and axe-core find.
// usage: node check.mjs CHROMIUM PAGE [FOLDER]   (FOLDER: screenshots go there)
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const url = pathToFileURL(resolve(file)).href;
const widths = { desktop: [1280, 900], phone: [390, 844] };
const SCREEN_PX = 1600;
const MAX_SCREENS = 12;
const found = [];

// one picture a screen: the whole of a long page at once takes a browser without a GPU minutes
async function screens(page, beginning) {
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width, height: SCREEN_PX });
  const length = await page.evaluate(() => document.scrollingElement.scrollHeight);
  for (let number = 0; number < MAX_SCREENS && number * SCREEN_PX < length; number += 1) {
    await page.evaluate((place) => window.scrollTo(0, place), number * SCREEN_PX);
    await page.screenshot({ path: `${beginning}-${number + 1}.png`, timeout: 120_000 });
  }
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.setViewportSize({ width, height });
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const [device, [width, height]] of Object.entries(widths)) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height }, offline: true });
      const page = await context.newPage();
      const told = { device, colorScheme, console: [], requests: [] };
      page.on("console", (message) => told.console.push(message.text()));
      page.on("pageerror", (error) => told.console.push(String(error)));
      page.on("request", (request) => {
        if (request.url() !== url && !request.url().startsWith("data:")) told.requests.push(request.url());
      });
      await page.goto(url, { waitUntil: "load" });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      told.first_paint_ms = await page.evaluate(
        () =>
          new Promise((done) => {
            const seen = (list) => {
              for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") done(entry.startTime);
            };
            new PerformanceObserver(seen).observe({ type: "paint", buffered: true });
            setTimeout(() => done(10_000), 10_000);
          }),
      );
      if (folder) await screens(page, join(folder, `${device}-${colorScheme}`));
      told.overflow_px = await page.evaluate(
        () => document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
      );
      // every fold is reached and opened by the keyboard alone
      told.folds = await page.locator("details").count();
      told.opened_by_key = 0;
      if (told.folds) {
        await page.locator("summary").first().focus();
        await page.keyboard.press("Enter");
        told.opened_by_key = await page.locator("details[open]").count();
      }
      await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
      told.overflow_open_px = await page.evaluate(
        () => document.scrollingElement.scrollWidth - document.documentElement.clientWidth,
      );
      await page.evaluate(axe);
      const { violations, passes } = await page.evaluate(() =>
        window.axe.run(document, { resultTypes: ["violations"] }),
      );
      told.rules_passed = passes.length;
      told.violations = violations.map((one) => ({
        id: one.id,
        impact: one.impact,
        help: one.help,
        places: one.nodes.length,
        first: one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
      }));
      found.push(told);
      await context.close();
    }
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(found, null, 1));
