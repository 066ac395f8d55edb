import { expect, test } from "vitest";
import { hasNoAgent, installStatus, toInstall } from "./installing";
import type { Installable, Installation } from "./installing";

const agent = (provider: string, installing = false): Installable => ({
  provider,
  name: provider,
  description: "",
  source: "npm",
  package: `${provider}@1.0.0`,
  version: "1.0.0",
  installing,
});

test("agents are offered that are not there, and stay while they were asked for here", () => {
  const items = [agent("owl"), agent("elk")];
  const names = (asked: [string, Installation][]) => toInstall(items, [{ provider: "owl" }], new Map(asked)).map(({ provider }) => provider);
  expect(names([])).toEqual(["elk"]);
  expect(names([["owl", { kind: "done", version: "1.0.0" }]])).toEqual(["owl", "elk"]);
});

test("a row says how far it is, and what came of it", () => {
  expect(installStatus(agent("owl"), undefined, undefined)).toBeUndefined();
  expect(installStatus(agent("owl", true), undefined, undefined)).toBe("Installing for someone else…");
  expect(installStatus(agent("owl"), { kind: "running" }, undefined)).toBe("Installing…");
  expect(installStatus(agent("owl"), { kind: "running" }, "added 3 packages")).toBe("added 3 packages");
  expect(installStatus(agent("owl"), { kind: "done", version: "1.0.0" }, undefined)).toBe("Version 1.0.0 is installed");
  expect(installStatus(agent("owl"), { kind: "failed", why: "npm is needed" }, "late")).toBe("npm is needed");
});

test("the agent that plays scenarios does not count", () => {
  expect(hasNoAgent([{ provider: "script" }])).toBe(true);
  expect(hasNoAgent([{ provider: "script" }, { provider: "owl" }])).toBe(false);
});
