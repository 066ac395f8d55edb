import type {
  ChildCustomization,
  Customization,
  Enablement,
  McpServerCustomization,
  McpServerState,
  SessionAction,
  SessionState,
  URI,
} from "../../protocol/types";
import { upsert, withField } from "./lists";

export function reduceCustomizations(state: SessionState, action: SessionAction): SessionState {
  switch (action.type) {
    case "session/customizationsChanged":
      return { ...state, customizations: action.customizations };
    case "session/customizationUpdated": {
      const { customization } = action;
      const same = (known: Customization) => known.id === customization.id;
      return { ...state, customizations: upsert(state.customizations, customization, same) };
    }
    case "session/customizationToggled":
      return change(state, action.id, (item) => enabled(item, action.enablement));
    case "session/customizationRemoved":
      return change(state, action.id, () => undefined);
    case "session/mcpServerStateChanged":
      return changeServer(state, action.id, action.state, action.channel);
    case "session/mcpServerStartRequested":
      return changeServer(state, action.id, { kind: "starting" });
    case "session/mcpServerStopRequested":
      return changeServer(state, action.id, { kind: "stopped" });
    case "session/mcpServerBackgroundRequested":
      return change(state, action.id, (item) => {
        const waits = item.type === "mcpServer" && item.state.kind === "starting" && item.state.blocking;
        return waits ? { ...item, state: { ...item.state, blocking: false } } : item;
      });
    default:
      return state;
  }
}

type Item = Customization | ChildCustomization;

/** Changes or removes the entry of that id: a top-level one first, else a child. */
function change(state: SessionState, id: string, to: (item: Item) => Item | undefined): SessionState {
  const list = state.customizations;
  if (!list) return state;
  const top = swap<Customization>(list, id, to);
  if (top) return { ...state, customizations: top };
  for (const [index, container] of list.entries()) {
    if (container.type === "mcpServer" || !container.children) continue;
    const children = swap<ChildCustomization>(container.children, id, to);
    if (!children) continue;
    const next = [...list];
    next[index] = { ...container, children };
    return { ...state, customizations: next };
  }
  return state;
}

function swap<T extends Item>(list: T[], id: string, to: (item: Item) => Item | undefined): T[] | undefined {
  const at = list.findIndex((item) => item.id === id);
  const found = list[at];
  if (!found) return undefined;
  const next = to(found) as T | undefined;
  return next ? list.map((item, index) => (index === at ? next : item)) : list.filter((_, index) => index !== at);
}

function changeServer(state: SessionState, id: string, next: McpServerState, channel?: URI): SessionState {
  return change(state, id, (item) => {
    if (item.type !== "mcpServer") return item;
    return withField<McpServerCustomization, "channel">({ ...item, state: next }, "channel", channel);
  });
}

function enabled(item: Item, enablement: Enablement[]): Item {
  if (item.type === "plugin" || item.type === "mcpServer") {
    return withField(item as McpServerCustomization, "enablement", enablement.length ? enablement : undefined);
  }
  // The first entry is the one that wins; without any, things are enabled.
  return { ...item, enabled: enablement[0]?.enabled ?? enablement.length === 0 } as Item;
}
