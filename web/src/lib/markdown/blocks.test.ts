import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BlockSplitter } from "./blocks";
import type { Block } from "./blocks";
import { mend } from "./mend";

function blocks(text: string): Block[] {
  const { groups, tail } = new BlockSplitter().update(text);
  return [...groups.flat(), ...tail];
}

const sources = (text: string) => blocks(text).map(({ source }) => source.trim());

describe("splitting", () => {
  test("paragraphs, headings and fences are blocks of their own", () => {
    expect(sources("# A\n\nb\nb\n\n```ts\nc\n\nc\n```\nd\n")).toEqual(["# A", "b\nb", "c\n\nc", "d"]);
  });

  test("a list with blank lines and nested code stays one block", () => {
    const list = "- a\n\n  more\n\n- b\n\n  ```\n  code\n\n  code\n  ```\n\n1. c";
    expect(sources(`${list}\n\nafter\n`)).toEqual([list, "after"]);
  });

  test("a fence that is still open is code already", () => {
    expect(blocks("text\n\n```rust\nfn main")).toMatchObject([
      { kind: "markdown" },
      { kind: "code", language: "rust", source: "fn main", isOpen: true },
    ]);
  });

  test("a fence may close at the very end of the text", () => {
    expect(blocks("```rust\nfn main\n```")).toMatchObject([{ kind: "code", source: "fn main\n", isOpen: false }]);
    expect(blocks("```\n```")).toMatchObject([{ kind: "code", source: "", isOpen: false }]);
  });

  test("a line without an end is cut into pieces while it grows, and whole when it has ended", () => {
    const text = "word ".repeat(20_000);
    const splitter = new BlockSplitter();
    expect(splitter.update(text, false).tail.length).toBeGreaterThan(5);
    expect(splitter.update(text, true).tail).toHaveLength(1);
  });

  test.each([
    ["a section", "<details>\n<summary>More</summary>\n\none\n\n```\n\n```\n\n</details>\n\nafter\n", 2],
    ["sections in sections", "<details>\n\n<details>\n\na\n\n</details>\n\nb\n\n</details>\n\nafter\n", 2],
    ["a formula", "$$\na\n\n+ b\n$$\n\nafter\n", 2],
    ["a comment", "<!-- a\n\nb -->\n\nafter\n", 2],
    ["code by its indentation", "    a\n\n    b\n\nafter\n", 2],
  ])("blank lines do not end %s", (_, text, number) => expect(blocks(text)).toHaveLength(number));

  const line = fc.constantFrom("", "text **bold", "- item", "  inner", "```", "```js", "> quote", "# head", "| a | b |", "1. one", "\tcode");

  test("however a text arrives, its blocks are the same, and nothing is lost", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.array(fc.integer({ min: 1, max: 9 })), (lines, cuts) => {
        const text = lines.join("\n");
        const splitter = new BlockSplitter();
        let at = 0;
        for (const cut of cuts) splitter.update(text.slice(0, (at += cut)));
        const { groups, tail } = splitter.update(text);
        const streamed = [...groups.flat(), ...tail];
        expect(streamed).toEqual(blocks(text));
        const kept = streamed.map(({ source }) => source).join("");
        const words = text.split("\n").filter((known) => known.trim() && !known.includes("```"));
        for (const word of words) expect(kept).toContain(word);
      }),
      { numRuns: 300 },
    );
  });

  test("finished groups keep their identity while the text grows", () => {
    const splitter = new BlockSplitter();
    let text = "para\n\n".repeat(60);
    const before = splitter.update(text).groups;
    text += "more\n\nand more";
    const after = splitter.update(text).groups;
    expect(before.length).toBeGreaterThan(0);
    for (const [index, group] of before.entries()) expect(after[index]).toBe(group);
  });
});

describe("mending what is unfinished", () => {
  test.each([
    ["some **bold", "some **bold**"],
    ["some *leaning", "some *leaning*"],
    ["some ***both", "some ***both***"],
    ["some `code", "some `code`"],
    ["a ~~gone", "a ~~gone~~"],
    ["done **here**.", "done **here**."],
    ["ends with **", "ends with **"],
    ["2 * 3, snake_case_na", "2 * 3, snake_case_na"],
    ["see [this](http://x", "see this"],
    ["- one **bold\n- two `co", "- one **bold\n- two `co`"],
    ["- one\n\n  two **b", "- one\n\n  two **b**"],
    ["| a |\n| - |\n| **b", "| a |\n| - |\n| **b**"],
    ["- a\n\n  ```js\n  let a = `b", "- a\n\n  ```js\n  let a = `b"],
    ["text <custom", "text <custom"],
    ["- > 25", "- > 25"],
    ["20~25 °C costs $$5", "20~25 °C costs $$5"],
  ])("%s", (source, mended) => expect(mend(source)).toBe(mended));

  test("a text is read from its last part on, and one without parts not at all if it is long", () => {
    const list = "- an **item** with `code`\n".repeat(2_000);
    expect(mend(`${list}- the **last`)).toBe(`${list}- the **last**`);
    const long = `${"word ".repeat(2_000)}**bold`;
    expect(mend(long)).toBe(long);
  });
});
