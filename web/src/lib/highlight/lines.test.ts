import { expect, test } from "vitest";
import { languageOf, linesOfRuns, withMarks } from "./lines";

test("colours go over line ends", () => {
  expect(linesOfRuns([["c", "/* a\n\nb */"], ["", " x\n"]])).toEqual([[["c", "/* a"]], [], [["c", "b */"], ["", " x"]], []]);
});

test("marks cut colours, and stand where they were told to", () => {
  const pieces = withMarks([["k", "const"], ["", " a = 1;"]], [[3, 7], [10, 11]]);
  expect(pieces.map(({ text }) => text)).toEqual(["con", "st", " a", " = ", "1", ";"]);
  expect(pieces.filter(({ isMarked }) => isMarked).map(({ text }) => text)).toEqual(["st", " a", "1"]);
});

test.each([
  ["src/main.rs", "rs"],
  ["Dockerfile", "dockerfile"],
  ["a/b.test.MTS", "typescript"],
  [".bashrc", "bash"],
  ["LICENSE", "license"],
  ["a.constructor", "constructor"],
])("the language of %s", (name, language) => expect(languageOf(name)).toBe(language));
