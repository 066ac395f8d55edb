import { describe, expect, test } from "vitest";
import { ansiRuns, plainText } from "./ansi";

const E = "\u001b";

describe("colours of terminals", () => {
  test.each([
    ["the sixteen", `${E}[32mok${E}[0m done`, [[{ className: "ansi-2" }, "ok"], [undefined, " done"]]],
    ["bright ones and backgrounds", `${E}[91;104mx`, [[{ className: "ansi-9 ansi-bg-12" }, "x"]]],
    ["of 256, named", `${E}[38;5;9mx`, [[{ className: "ansi-9" }, "x"]]],
    ["of 256, the cube", `${E}[38;5;208mx`, [[{ className: "", color: "rgb(255 135 0)" }, "x"]]],
    ["of 256, greys", `${E}[48;5;232mx`, [[{ className: "", background: "rgb(8 8 8)" }, "x"]]],
    ["true colour", `${E}[38;2;1;2;300mx`, [[{ className: "", color: "rgb(1 2 255)" }, "x"]]],
    ["true colour with colons", `${E}[38:2::1:2:3mx`, [[{ className: "", color: "rgb(1 2 3)" }, "x"]]],
    ["weights", `${E}[1;3;4;9mx${E}[22;23;24;29my`, [[{ className: "ansi-bold ansi-italic ansi-underline ansi-strike" }, "x"], [undefined, "y"]]],
    ["inverse without colours", `${E}[7mx`, [[{ className: "ansi-inverse-fg ansi-inverse-bg" }, "x"]]],
    ["inverse with one", `${E}[31;7mx`, [[{ className: "ansi-bg-1 ansi-inverse-fg" }, "x"]]],
    ["an empty reset", `${E}[31ma${E}[mb`, [[{ className: "ansi-1" }, "a"], [undefined, "b"]]],
    ["a code that nobody knows", `${E}[31;777mx`, [[{ className: "ansi-1" }, "x"]]],
    ["an extended colour that is cut off", `${E}[38;5mx${E}[38mx`, [[{ className: "ansi-0" }, "x"], [undefined, "x"]]],
  ])("%s", (_, text, runs) => expect(ansiRuns(text)).toEqual(runs));

  test("neighbours of one look are one run", () => {
    expect(ansiRuns(`${E}[31ma${E}[31mb${E}[Kc`)).toEqual([[{ className: "ansi-1" }, "abc"]]);
  });
});

test.each([
  ["cursor movements", `${E}[2J${E}[1;1Ha${E}[?25lb`, "ab"],
  ["titles and links", `${E}]0;title\u0007a${E}]8;;https://x.example${E}\\b`, "ab"],
  ["a title without an end", `a${E}]0;title`, "a"],
  ["single shifts and resets", `${E}(Ba${E}cb`, "ab"],
  ["bells and backspaces", "a\u0007b\b", "ab"],
  ["line ends of Windows and of terminals", "a\r\nb\r\r\nc", "a\nb\nc"],
  ["a line that is written over again", "10%\r50%\r100%\nend", "100%\nend"],
  ["a return without anything after it", "kept\r", "kept"],
  ["tabs stay", "a\tb", "a\tb"],
])("%s", (_, text, shown) => {
  expect(plainText(text)).toBe(shown);
  expect(ansiRuns(text).map(([, piece]) => piece).join("")).toBe(shown);
});
