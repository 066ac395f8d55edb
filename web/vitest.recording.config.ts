import { defineConfig } from "vitest/config";

// Not a test: records a real agent, for the README.
export default defineConfig({
  test: { include: ["browser/recording.ts"], environment: "node", testTimeout: 180_000, hookTimeout: 900_000 },
});
