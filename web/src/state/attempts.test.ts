import { expect, test } from "vitest";
import type { ChatState, SessionSummary } from "../protocol/types";
import { attemptOf, attemptsOf, changesOfSession, outcomeOf } from "./attempts";

const session = (resource: string, attempt?: unknown) => ({ resource, _meta: { innkeeper: { attempt } } }) as never as SessionSummary;

test("a session says which attempt it is; what makes no sense is none", () => {
  expect(attemptOf(session("a", { id: "x", number: 2, count: 3, directory: "file:///inn" }))).toEqual({ id: "x", number: 2, count: 3, directory: "file:///inn" });
  for (const odd of [undefined, null, 3, "x", {}, { id: 1, number: 1, count: 1 }, { id: "x", number: "1", count: 2 }]) expect(attemptOf(session("a", odd))).toBeUndefined();
  expect(attemptOf(undefined)).toBeUndefined();
});

test("the attempts of one prompt are found in their order", () => {
  const all = [session("b", { id: "x", number: 2, count: 2 }), session("c", { id: "y", number: 1, count: 1 }), session("a", { id: "x", number: 1, count: 2 }), session("d")];
  expect(attemptsOf(all, "x").map(({ resource }) => resource)).toEqual(["a", "b"]);
});

test("the changes of a session are those without a variable", () => {
  const changesets = [
    { label: "", changeKind: "turn", uriTemplate: "x:/{turnId}" },
    { label: "", changeKind: "session", uriTemplate: "x:/all" },
  ];
  expect(changesOfSession({ changesets } as never)).toBe("x:/all");
  expect(changesOfSession({ changesets: changesets.slice(0, 1) } as never)).toBeUndefined();
});

test("an outcome is the last thing said, with time, tokens and cost of all turns", () => {
  const said = (content: string) => ({ kind: "markdown", id: "m", content });
  const cost = (amount: number, currency = "USD") => ({ inputTokens: 10, outputTokens: 1, _meta: { cost: { amount, currency } } });
  const turns = [
    { duration: 1_000, usage: cost(0.25), responseParts: [said("first")] },
    { duration: 500, usage: cost(0.5), responseParts: [said("then"), said("done"), said(" ")] },
  ];
  const chat = { turns } as never as ChatState;
  expect(outcomeOf(chat)).toEqual({ answer: "done", isRunning: false, startedAt: undefined, duration: 1_500, inputTokens: 20, outputTokens: 2, cost: { amount: 0.75, currency: "USD" } });
  expect(outcomeOf({ turns: [turns[0], { ...turns[1], usage: cost(1, "EUR") }] } as never).cost).toBeUndefined();
  const running = outcomeOf({ turns, activeTurn: { startedAt: "2026-01-01T00:00:00Z", responseParts: [] } } as never);
  expect(running).toMatchObject({ answer: "", isRunning: true, startedAt: "2026-01-01T00:00:00Z" });
});
