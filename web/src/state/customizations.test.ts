import { expect, test } from "vitest";
import type { Enablement, McpServerState, PluginCustomization } from "../protocol/types";
import { decided, isOn, serverControls } from "./customizations";

const plugin = (...enablement: Enablement[]): PluginCustomization => ({ type: "plugin", id: "p", uri: "file:///p", name: "p", enablement });

test("what nobody decided is on, and the nearest decision holds", () => {
  expect(isOn(plugin())).toBe(true);
  expect(isOn(plugin({ kind: "global", enabled: false }))).toBe(false);
  expect(isOn(plugin({ kind: "global", enabled: false }, { kind: "session", enabled: true }))).toBe(true);
  expect(isOn({ type: "skill", id: "s", uri: "file:///s", name: "s", enabled: false })).toBe(false);
});

test("a decision for the session leaves those of others alone", () => {
  const others: Enablement[] = [{ kind: "workspace", uri: "file:///w", enabled: true }, { kind: "global", enabled: false }];
  expect(decided(plugin({ kind: "session", enabled: true }, ...others), false)).toEqual([{ kind: "session", enabled: false }, ...others]);
});

test("an MCP server offers what makes sense as it is, and nothing begins that is off", () => {
  const asked = (state: McpServerState, isOff = false) =>
    serverControls({ type: "mcpServer", id: "m", uri: "file:///m", name: "m", state }, isOff).map(({ request }) => request);
  expect(asked({ kind: "stopped" })).toEqual(["Start"]);
  expect(asked({ kind: "stopped" }, true)).toEqual([]);
  expect(asked({ kind: "starting", blocking: true })).toEqual(["Background", "Stop"]);
  expect(asked({ kind: "starting" })).toEqual(["Stop"]);
  expect(asked({ kind: "ready" })).toEqual(["Start", "Stop"]);
  expect(asked({ kind: "authRequired" })).toEqual(["Stop"]);
  expect(asked({ kind: "error", error: { errorType: "ended", message: "it ended" } })).toEqual(["Start"]);
});
