import { defineConfig } from "vitest/config";

// Not a test: takes the pictures of the documentation.
export default defineConfig({
  test: { include: ["browser/screenshots.ts"], environment: "node", testTimeout: 120_000, hookTimeout: 60_000 },
});
