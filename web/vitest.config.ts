import { defineConfig } from "vitest/config";

export default defineConfig({
  define: { __APP_VERSION__: JSON.stringify("test") },
  test: { include: ["src/**/*.test.{ts,tsx}", "build/**/*.test.ts"], environment: "node" },
});
