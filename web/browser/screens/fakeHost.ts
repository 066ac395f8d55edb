// A host that is nothing but answers: what it says depends on nothing but the
// scene, so that two pictures of a scene are the same.

import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { BrowserContext, WebSocketRoute } from "playwright-core";
import type { Scene } from "./scenes";

export const ORIGIN = "http://localhost:1";

const dist = new URL("../../../crates/innkeeper/web/", import.meta.url).pathname;
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

interface Call {
  id?: number;
  method: string;
  params?: { channel?: string; uri?: string; query?: string };
}

/** Serves the built client and plays the host for every page of the context. */
export async function play(context: BrowserContext, scene: Scene): Promise<void> {
  await context.route(`${ORIGIN}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const file = join(dist, pathname === "/" ? "index.html" : pathname);
    if (!existsSync(file)) return route.fulfill({ status: scene.isRefused && pathname === "/healthz" ? 200 : 404, body: "" });
    await route.fulfill({ body: readFileSync(file), contentType: TYPES[extname(file)] ?? "application/octet-stream" });
  });
  await context.routeWebSocket(/^ws:\/\/localhost:1\//, (socket) => {
    if (scene.isRefused) return void socket.close();
    socket.onMessage((text) => {
      const call = JSON.parse(String(text)) as Call;
      if (call.id !== undefined) answer(socket, call, scene);
    });
  });
}

function answer(socket: WebSocketRoute, { id, method, params = {} }: Call, scene: Scene): void {
  const { channels } = scene;
  const snapshot = (resource: string) => ({ resource, state: channels[resource], fromSeq: 1 });
  const results: Record<string, () => unknown> = {
    initialize: () => ({
      protocolVersion: "1.0.0",
      serverSeq: 1,
      serverInfo: { name: "innkeeper", title: "Innkeeper", version: "1.0.0" },
      defaultDirectory: "file:///srv/inn",
      completionTriggerCharacters: ["@", "/"],
      terminalCommandPrefix: "!",
      snapshots: [snapshot("ahp-root://")],
    }),
    listSessions: () => ({ items: scene.sessions }),
    subscribe: () => (channels[params.channel ?? ""] ? { snapshot: snapshot(params.channel ?? "") } : {}),
    resolveSessionConfig: () => scene.config,
    sessionConfigCompletions: () => ({ items: [] }),
    completions: () => ({ items: scene.completions }),
    resourceRead: () => ({ data: scene.files[params.uri ?? ""] ?? "", encoding: "utf-8" }),
    resourceList: () => ({ entries: [{ name: "src", type: "directory" }, { name: "README.md", type: "file" }] }),
    "innkeeper/searchSessions": () => ({ items: scene.found }),
    "innkeeper/usage": () => ({ items: scene.usage }),
  };
  const result = results[method]?.() ?? null;
  socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
