// What a session's agent is given beside the message: which of it is on.

import type { ChildCustomization, Customization, Enablement } from "../protocol/types";

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

export function childrenOf(item: Customization): ChildCustomization[] {
  return item.type === "mcpServer" ? [] : (item.children ?? []);
}
