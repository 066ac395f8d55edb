// What a tool call is about, as the host says it, and what many calls come to
// in a few words. Nothing is guessed from the names of tools.

import { count } from "../lib/text";
import type { ToolCall } from "../protocol/types";
import { todosOf } from "./todos";

export type ToolKind = "read" | "search" | "command" | "edit" | "fetch" | "subagent" | "todos" | "other";

/** The kinds of the Agent Client Protocol that have one here. */
const OF_KIND = new Map<string, ToolKind>(Object.entries({
  read: "read",
  search: "search",
  execute: "command",
  edit: "edit",
  delete: "edit",
  move: "edit",
  fetch: "fetch",
} as const));

const OF_TOOL_KIND = new Map<string, ToolKind>(Object.entries({ terminal: "command", read: "read", search: "search", subagent: "subagent" } as const));

export function kindOf(call: ToolCall): ToolKind {
  const { toolKind, kind } = call._meta ?? {};
  const content = "content" in call ? (call.content ?? []) : [];
  const has = (type: string) => content.some((item) => item.type === type);
  if (has("subagent")) return "subagent";
  if (has("fileEdit") || (call.status === "pending-confirmation" && call.edits?.items.length)) return "edit";
  if (todosOf(call)) return "todos";
  const said = typeof toolKind === "string" ? OF_TOOL_KIND.get(toolKind) : undefined;
  if (said) return said;
  if (has("terminal")) return "command";
  return (typeof kind === "string" ? OF_KIND.get(kind) : undefined) ?? "other";
}

/** Where a call looks or works, as the agent says. */
export function pathsOf({ _meta }: ToolCall): string[] {
  const locations = _meta?.["locations"];
  if (!Array.isArray(locations)) return [];
  return locations.flatMap((place: unknown) => {
    const path = (place as { path?: unknown } | null)?.path;
    return typeof path === "string" ? [path] : [];
  });
}

/** Whether a call went wrong: it says so, or its command does. */
export function hasFailed(call: ToolCall): boolean {
  if (call.status !== "completed") return false;
  return !call.success || (exitCodeOf(call) ?? 0) !== 0;
}

export function exitCodeOf(call: ToolCall): number | undefined {
  if (!("content" in call)) return undefined;
  for (const item of call.content ?? []) if (item.type === "terminal" && item.result?.exitCode !== undefined) return item.result.exitCode;
  return undefined;
}

/** "Explored 14 files · ran 3 commands". */
export function summaryOf(calls: readonly ToolCall[]): string {
  const of = (kind: ToolKind) => calls.filter((call) => kindOf(call) === kind);
  const reads = distinct(of("read"));
  const edits = distinct(of("edit"));
  const said = [
    reads > 0 && `explored ${count(reads, "file")}`,
    of("search").length > 0 && `searched ${times(of("search").length)}`,
    of("fetch").length > 0 && `fetched ${count(of("fetch").length, "page")}`,
    edits > 0 && `edited ${count(edits, "file")}`,
    of("command").length > 0 && `ran ${count(of("command").length, "command")}`,
    of("subagent").length > 0 && `asked ${count(of("subagent").length, "sub-agent")}`,
    of("other").length > 0 && `used ${count(of("other").length, "tool")}`,
  ];
  const text = said.filter((part) => part !== false).join(" · ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function times(n: number): string {
  return n === 1 ? "once" : n === 2 ? "twice" : `${n.toLocaleString()} times`;
}

/** A file that is read three times is one file. */
function distinct(calls: readonly ToolCall[]): number {
  const files = new Set<string>();
  for (const call of calls) {
    const paths = pathsOf(call);
    for (const path of paths.length ? paths : [call.toolCallId]) files.add(path);
  }
  return files.size;
}
