import { expect, test } from "vitest";
import { hasLongWord } from "./text";

test.each([
  ["", false],
  ["word ".repeat(10_000), false],
  [`${"a".repeat(399)} `.repeat(50), false],
  [`${"a".repeat(399)}\n${"b".repeat(399)}`, false],
  ["A".repeat(401), true],
  [`before ${"A".repeat(450)} after`, true],
  [`${"word ".repeat(70)}${"A".repeat(450)}`, true],
  [`${"a".repeat(399)} ${"A".repeat(450)} ${"word ".repeat(1_000)}`, true],
])("whether there is a word that nobody can read (%#)", (text, expected) => expect(hasLongWord(text)).toBe(expected));

test("wherever it begins", () => {
  for (let before = 0; before < 900; before++) {
    const spaces = " ".repeat(before);
    expect(hasLongWord(`${spaces}${"A".repeat(801)} b`), `${before}`).toBe(true);
    expect(hasLongWord(`${spaces}${"A".repeat(350)} b`), `${before}`).toBe(false);
  }
});
