import { expect, test } from "vitest";
import type { Enablement, PluginCustomization } from "../protocol/types";
import { decided, isOn } from "./customizations";

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
