import { defineConfig } from "vitest/config";

// Real Chromium against the real host. One after the other: the tests look at
// what a person would see, and a busy machine shows it late. Pictures are
// compared apart from these (`npm run screens`): they depend on the machine.
export default defineConfig({
  test: {
    include: ["browser/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
