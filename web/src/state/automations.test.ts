import { expect, test } from "vitest";
import type { AutomationDefinition, AutomationEntry } from "../protocol/types";
import { definitionOf, emptyForm, formOf, pluginInWords, whenOf } from "./automations";

const form = { ...emptyForm("UTC"), title: " Tidy ", text: "Tidy up", expression: "0 9 * * *", glob: "src/**", afterSession: true, directory: "file:///x" };

function entryOf(definition: AutomationDefinition): AutomationEntry {
  return { resource: "ahp-automation:/1", definition, runs: [], operations: [], createdAt: "", modifiedAt: "" };
}

test("a form becomes a definition and comes back as it was", () => {
  const definition = definitionOf(form);
  expect(definition.message).toEqual({ text: "Tidy up", origin: { kind: "automation" } });
  expect(definition.triggers.map(({ kind, id }) => `${kind} ${id}`)).toEqual(["schedule schedule", "event files", "event session"]);
  expect(formOf(entryOf(definition), "Europe/Berlin")).toEqual({ ...form, title: "Tidy" });
});

test("what a form does not show stays as it was", () => {
  const before: AutomationDefinition = {
    ...definitionOf(form),
    enabled: false,
    disableConditions: [{ kind: "afterRuns", max: 3 }],
    triggers: [
      { kind: "event", id: "x", type: "mail", title: "Mail", events: [] },
      { kind: "schedule", id: "mine", schedule: { expression: "0 1 * * *", timeZone: "UTC" } },
    ],
    _meta: { innkeeper: { patienceSeconds: 60 } },
  };
  const after = definitionOf({ ...formOf(entryOf(before), "UTC"), title: "Other" }, before);
  expect(after).toEqual({
    ...before,
    title: "Other",
    triggers: [before.triggers[0], { ...before.triggers[1], misfirePolicy: "runOnce" }],
  });
});

test("when it runs is said in words", () => {
  expect(whenOf(definitionOf(emptyForm("UTC")))).toBe("Only when you run it");
  expect(whenOf(definitionOf({ ...form, glob: "", afterSession: false }))).toBe("At 09:00 every day (UTC)");
});

test("directories and settings that a form does not show stay", () => {
  const before: AutomationDefinition = {
    ...definitionOf(form),
    session: { model: { id: "large", config: { effort: "high" } }, workingDirectories: ["file:///x", "file:///y"] },
  };
  const after = definitionOf(formOf(entryOf(before), "UTC"), before);
  expect(after.session).toEqual(before.session);
  const moved = definitionOf({ ...formOf(entryOf(before), "UTC"), directory: "file:///z", model: "small" }, before);
  expect(moved.session).toEqual({ model: { id: "small" }, workingDirectories: ["file:///z", "file:///y"] });
});

test("plugins are directories, and what was there stays the same plugin", () => {
  const first = definitionOf({ ...form, plugins: " /opt/deploy \n\n/opt/deploy" });
  const added = { type: "plugin", id: "file:///opt/deploy", uri: "file:///opt/deploy", name: "deploy" };
  expect(first.session.customizations).toEqual([added]);
  const virtual = { type: "plugin" as const, id: "v", uri: "virtual://editor/p", name: "Theirs" };
  const known = { ...added, type: "plugin" as const, nonce: "7" };
  const before = { ...first, session: { ...first.session, customizations: [virtual, known] } };
  const shown = formOf(entryOf(before), "UTC");
  expect(shown.plugins).toBe("/opt/deploy");
  expect(definitionOf(shown, before).session.customizations).toEqual([virtual, known]);
  expect(definitionOf({ ...shown, plugins: "" }, before).session.customizations).toEqual([virtual]);
});

test("a plugin says how much is in it, or what is wrong with it", () => {
  const plugin = { type: "plugin" as const, id: "p", uri: "file:///p", name: "deploy" };
  expect(pluginInWords({ ...plugin, children: [{ type: "skill", id: "s", uri: "s", name: "s" }] })).toBe("the plugin deploy (1 part)");
  expect(pluginInWords({ ...plugin, load: { kind: "error", message: "gone" } })).toBe("the plugin deploy (gone)");
});
