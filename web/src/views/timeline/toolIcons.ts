import type { ToolKind } from "../../state/toolKinds";
import type { IconName } from "../ui/Icon";

/** What a call is about, at a glance. */
export const TOOL_ICONS: Record<ToolKind, IconName> = {
  read: "file",
  search: "search",
  command: "terminal",
  edit: "edit",
  fetch: "tool",
  subagent: "people",
  todos: "check",
  other: "tool",
};
