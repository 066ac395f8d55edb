import browser from "./vitest.browser.config";

// Pictures of all pages, under the Chromium and the fonts that took them.
export default { test: { ...browser.test, include: ["browser/screens/*.test.ts"] } };
