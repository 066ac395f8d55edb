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

/** How a customization comes to the session's agent, in a few words, as far as the host says so. */
export function deliveryOf(item: Item, isOff: boolean, agent: string): string | undefined {
  const own = item._meta?.innkeeper;
  const delivery = typeof own === "object" && own !== null && "delivery" in own ? own.delivery : undefined;
  switch (delivery) {
    case "agent": {
      const does = item.type === "mcpServer" ? "starts" : item.type === "hook" ? "runs" : "reads";
      return `${agent} ${does} this itself${isOff ? ", although it is off here" : ""}`;
    }
    case "host":
      return isOff ? undefined : item.type === "mcpServer" ? `${agent} uses this through the host` : `The host passes this to ${agent}`;
    case "use":
      return isOff ? undefined : `${agent} gets this when you use it in a message`;
    case "none":
      return `${agent} does not ${item.type === "hook" ? "run" : "get"} this`;
    default:
      return undefined;
  }
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
      return server.state.blocking ? [{ request: "Background", label: "Start without it" }, stop] : [stop];
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

/**
 * The picture of a customization, if it comes with it. One that is elsewhere is
 * not loaded: that place would learn who looks.
 */
export function iconOf({ icons }: Customization | ChildCustomization): string | undefined {
  return icons?.find(({ src }) => src.startsWith("data:image/"))?.src;
}
