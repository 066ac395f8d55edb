// What a session's agent is given besides the message: which of it is on.

import type { ChildCustomization, Customization, Enablement, McpServerCustomization } from "../protocol/types";

type Item = Customization | ChildCustomization;

const NEAREST_FIRST: Enablement["kind"][] = ["session", "workspace", "global"];

/** The nearest decision holds; what nobody decided is on. */
export function isOn(item: Item): boolean {
  if (item.type !== "plugin" && item.type !== "mcpServer") return item.enabled !== false;
  const decisions = item.enablement ?? [];
  const nearest = NEAREST_FIRST.map((kind) => decisions.find((decision) => decision.kind === kind)).find(Boolean);
  return nearest?.enabled ?? true;
}

/** The decisions as they are after one for this session; the others stay. */
export function decided(item: Item, enabled: boolean): Enablement[] {
  const others = "enablement" in item ? (item.enablement ?? []).filter(({ kind }) => kind !== "session") : [];
  return [{ kind: "session", enabled }, ...others];
}

/** What can be asked of an MCP server, by the name of the action without its end. */
export interface ServerControl {
  request: "Start" | "Stop" | "Background";
  label: string;
}

/** What makes sense to ask of an MCP server as it is; one that is off cannot begin. */
export function serverControls(server: McpServerCustomization, isOff: boolean): ServerControl[] {
  const start = (label: string): ServerControl[] => (isOff ? [] : [{ request: "Start", label }]);
  const stop: ServerControl = { request: "Stop", label: "Stop" };
  switch (server.state.kind) {
    case "stopped":
      return start("Start");
    case "starting":
      return server.state.blocking ? [{ request: "Background", label: "Do not wait for it" }, stop] : [stop];
    case "ready":
      return [...start("Restart"), stop];
    case "authRequired":
      return [stop];
    case "error":
      return start("Try again");
  }
}

export function childrenOf(item: Customization): ChildCustomization[] {
  return item.type === "mcpServer" ? [] : (item.children ?? []);
}
