import react from "@vitejs/plugin-react";
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";
import { compress } from "./build/compress.ts";
import { precache } from "./build/precache.ts";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
/** `npm run dev` speaks to a host that runs elsewhere. */
const host = process.env["INNKEEPER_URL"] ?? "http://127.0.0.1:8137";

export default defineConfig({
  plugins: [react(), precache(), compress()],
  define: { __APP_VERSION__: JSON.stringify(version) },
  worker: { format: "es" },
  build: {
    // From where the host takes it into its binary.
    outDir: "../crates/innkeeper/web",
    emptyOutDir: true,
    target: "es2023",
    // The first that know `light-dark()`.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    // The policy of the page allows no inline script, and needs no polyfill.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/healthz": host, "/socket": { target: host, ws: true } } },
});
