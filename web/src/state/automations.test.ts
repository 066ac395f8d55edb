import { expect, test } from "vitest";
import type { AutomationDefinition, AutomationEntry } from "../protocol/types";
import { definitionOf, emptyForm, formOf, whenOf } from "./automations";

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
