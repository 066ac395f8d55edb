import { expect, test } from "vitest";
import { byDay, knows, piecesOf, SEARCH } from "./search";

test("a snippet is cut at its marks, and keeps every letter", () => {
  const text = "the front door is oak";
  const pieces = piecesOf({ text, marks: [[4, 14], [18, 21]] });
  expect(pieces.filter(({ isMarked }) => isMarked).map((piece) => piece.text)).toEqual(["front door", "oak"]);
  expect(pieces.map((piece) => piece.text).join("")).toBe(text);
});

test("marks that do not fit the text are left out", () => {
  const marks: [number, number][] = [[-1, 2], [3, 3], [2, 4], [3, 5], [6, 99]];
  expect(piecesOf({ text: "abcdef", marks })).toEqual([
    { text: "ab", isMarked: false },
    { text: "cd", isMarked: true },
    { text: "ef", isMarked: false },
  ]);
});

test("a host that announces a request knows it", () => {
  expect(knows({ agents: [], _meta: { innkeeper: { extensions: { [SEARCH]: 1 } } } }, SEARCH)).toBe(true);
  expect(knows({ agents: [], _meta: { innkeeper: {} } }, SEARCH)).toBe(false);
  expect(knows(undefined, SEARCH)).toBe(false);
});

test("the usage of a day is that of all agents, each currency for itself", () => {
  const item = { provider: "a", turns: 1, inputTokens: 10, outputTokens: 5 };
  const days = byDay([
    { ...item, day: "2026-03-09" },
    { ...item, day: "2026-03-10", cost: { amount: 1, currency: "USD" } },
    { ...item, day: "2026-03-10", provider: "b", cost: { amount: 2, currency: "USD" } },
    { ...item, day: "2026-03-10", provider: "c", cost: { amount: 3, currency: "EUR" } },
  ]);
  expect(days).toEqual([
    { day: "2026-03-10", turns: 3, tokens: 45, costs: [{ amount: 3, currency: "USD" }, { amount: 3, currency: "EUR" }] },
    { day: "2026-03-09", turns: 1, tokens: 15, costs: [] },
  ]);
});
