import { expect, test } from "vitest";
import type { ChatState, ModelInfo, UsageInfo } from "../protocol/types";
import { aboutModel, contextUsage, costIn, currentModel, lately, waitedIn } from "./model";

const one: ModelInfo = { id: "one", provider: "p", name: "One", maxContextWindow: 200_000 };

function chatWith(usage: UsageInfo): ChatState {
  return { turns: [{ usage, message: {} }] } as unknown as ChatState;
}

test("an agent's own count of its context comes before a sum of tokens", () => {
  const usage = { inputTokens: 9, outputTokens: 1, _meta: { contextUsed: 500, contextWindow: 1000 } };
  expect(contextUsage(chatWith(usage), [one])).toMatchObject({ used: 500, window: 1000 });
});

test("without one, tokens are summed up and the model says how many there may be", () => {
  expect(contextUsage(chatWith({ inputTokens: 9, outputTokens: 1 }), [one])).toMatchObject({ used: 10, window: 200_000 });
});

test.each([
  ["an amount", { amount: 0.25, currency: "USD" }, { amount: 0.25, currency: "USD" }],
  ["a number alone", 3, undefined],
  ["an amount in words", { amount: "much", currency: "USD" }, undefined],
  ["nothing", undefined, undefined],
])("a cost is read from %s", (_, cost, expected) => {
  expect(costIn({ _meta: { cost } }, "cost")).toEqual(expected);
});

test("a model is told with its words, its context and its prices", () => {
  const pricing = { input: 3, output: 15, currency: "USD", per: 1_000_000 };
  expect(aboutModel({ ...one, _meta: { description: "Quick", pricing } })).toBe("Quick · 200k context · $3.00 in, $15.00 out for 1M tokens");
  expect(aboutModel({ ...one, maxContextWindow: undefined })).toBeUndefined();
});

test("the model that is shown is the one that was chosen or that answered, and never a guess", () => {
  const two: ModelInfo = { ...one, id: "two", name: "Two" };
  const chosen = { turns: [], draft: { text: "", origin: { kind: "user" }, model: { id: "two" } } } as unknown as ChatState;
  expect(currentModel([one, two], chosen)).toBe(two);
  expect(currentModel([one, two], chatWith({ model: "two" }))).toBe(two);
  expect(currentModel([one, two], chatWith({}))).toBeUndefined();
  expect(currentModel([one], chatWith({}))).toBe(one);
  expect(currentModel([one, two], undefined)).toBeUndefined();
  const usual: ModelInfo = { ...two, _meta: { innkeeper: { default: true } } };
  expect(currentModel([one, usual], chatWith({}))).toBe(usual);
  expect(currentModel([one, usual], chatWith({ model: "one" }))).toBe(one);
});

test("the model that the agent names for the leading chat comes before the one that answered last", () => {
  const two: ModelInfo = { ...one, id: "two", name: "Two" };
  const chat = { ...chatWith({ model: "one" }), resource: "c" };
  const session = { defaultChat: "c", _meta: { innkeeper: { model: "two" } } };
  expect(currentModel([one, two], chat, session)).toBe(two);
  expect(currentModel([one, two], chat, { ...session, defaultChat: "other" })).toBe(one);
  expect(currentModel([one, two], { ...chat, draft: { text: "", origin: { kind: "user" }, model: { id: "one" } } }, session)).toBe(one);
});

test("how long a turn waited is the host's to say", () => {
  expect(waitedIn({ _meta: { innkeeper: { waitedMs: 4_300 } } })).toBe(4_300);
  for (const meta of [undefined, {}, { innkeeper: null }, { innkeeper: { waitedMs: "4" } }, { innkeeper: { waitedMs: -1 } }]) expect(waitedIn({ _meta: meta })).toBeUndefined();
});

test("in a long list, the models that were chosen lately stand first, as far as they are still there", () => {
  const many = Array.from({ length: 12 }, (_, at): ModelInfo => ({ ...one, id: `m${at}` }));
  expect(lately(many, ["m7", "gone", "m2"]).map(({ id }) => id)).toEqual(["m7", "m2"]);
  expect(lately(many.slice(0, 8), ["m7", "m2"])).toEqual([]);
});
