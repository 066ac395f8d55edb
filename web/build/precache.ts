// Names what the service worker keeps when the client is installed: all that it
// takes to start and to show a session without the host.

import type { Plugin } from "vite";

/** What is of no use without the host, or to few. */
const LEFT_OUT = /TerminalView|worker-|cyrillic|greek/;

export function precache(): Plugin {
  return {
    name: "precache-list",
    apply: "build",
    generateBundle(_, bundle) {
      const assets = Object.keys(bundle).filter((name) => name.startsWith("assets/") && !LEFT_OUT.test(name));
      this.emitFile({ type: "asset", fileName: "precache.json", source: JSON.stringify(assets.map((name) => `/${name}`).sort()) });
    },
  };
}
