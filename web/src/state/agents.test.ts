import { expect, test } from "vitest";
import type { AgentInfo } from "../protocol/types";
import { agentToBeginWith, readinessOf } from "./agents";

const agent = (description: string, more: Partial<AgentInfo> = {}): AgentInfo => ({ provider: "kimi", displayName: "Kimi", description, models: [], ...more });

test.each([
  ["`kimi acp`", "checking"],
  ["1.2.3 (`kimi acp`)", "ready"],
  ["It wants you to sign in: run `copilot login`.", "signIn"],
  ["Authentication required", "signIn"],
  ["Plays scenarios", "ready"],
])("an agent that is described as %s is %s", (description, readiness) => {
  expect(readinessOf(agent(description))).toBe(readiness);
});

test.each([
  [undefined, "signIn"],
  [true, "signIn"],
  [false, "ready"],
])("an agent with a protected resource that is required: %s is %s", (required, readiness) => {
  const protectedResources = [{ resource: "https://api.example", ...(required === undefined ? {} : { required }) }];
  expect(readinessOf(agent("1.2.3 (`kimi acp`)", { protectedResources }))).toBe(readiness);
});

test("an agent with models was heard of", () => {
  expect(readinessOf(agent("`kimi acp`", { models: [{ id: "k", provider: "kimi", name: "K" }] }))).toBe("ready");
});

test("the agent that plays scenarios is nobody's first choice", () => {
  const [script, claude] = [agent("", { provider: "script" }), agent("", { provider: "claude" })];
  expect(agentToBeginWith([script, claude], undefined, undefined)).toBe(claude);
  expect(agentToBeginWith([script, claude], "script", "claude")).toBe(script);
  expect(agentToBeginWith([script, claude], "gone", "script")).toBe(script);
  expect(agentToBeginWith([script], undefined, undefined)).toBe(script);
});
