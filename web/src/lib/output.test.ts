import { describe, expect, test } from "vitest";
import { beginningOf, endOf, failureOf, linksIn, unwrapped, withoutFence } from "./output";

describe("long output is cut where a line ends", () => {
  const text = "first\nsecond\nthird\n";

  test.each([
    [100, text, 0],
    [13, "first\nsecond", 1],
    [12, "first\nsecond", 1],
    [11, "first", 2],
    [3, "fir", 3],
  ])("the beginning, %i", (limit, shown, hidden) => expect(beginningOf(text, limit)).toEqual({ text: shown, hidden }));

  test.each([
    [100, text, 0],
    [13, "second\nthird\n", 1],
    [12, "third\n", 2],
    [6, "third\n", 2],
    [3, "rd\n", 3],
  ])("the end, %i", (limit, shown, hidden) => expect(endOf(text, limit)).toEqual({ text: shown, hidden }));

  test("one line without an end is cut anywhere", () => {
    expect(beginningOf("x".repeat(10), 4)).toEqual({ text: "xxxx", hidden: 1 });
    expect(endOf("x".repeat(10), 4)).toEqual({ text: "xxxx", hidden: 1 });
  });
});

test.each([
  ["```\nfn main() {}\n```", "fn main() {}"],
  ["```rust\na\n\nb\n```\n", "a\n\nb"],
  ["```\n     1\tfirst\n     2\tsecond\n```", "first\nsecond"],
  ["    9→a\n   10→b\n", "a\nb"],
  ['{"content":"\\"\\"\\"Parse\\n"}', '"""Parse\n'],
  ['{"name":"package","version":"1","content":"x","a":1,"b":2}', '{"name":"package","version":"1","content":"x","a":1,"b":2}'],
  ["1\ta\n3\tb", "1\ta\n3\tb"],
  ["text ```a``` text", "text ```a``` text"],
  ["```\na\n```\ntext\n```\nb\n```", "```\na\n```\ntext\n```\nb\n```"],
])("what was read is shown without its wrapping: %j", (text, shown) => expect(unwrapped(text)).toBe(shown));

test.each([
  ["Exit code 101\nerror: no", { exitCode: 101, text: "error: no" }],
  ["exit status: 1", { exitCode: 1, text: "" }],
  ["error: Exit code 101", { text: "error: Exit code 101" }],
])("the exit code that stands before an output: %j", (message, failure) => expect(failureOf(message)).toEqual(failure));

test.each([
  ["```\nno such file\n```", "no such file"],
  ["```\n<tool_use_error>There is no tool Grep.</tool_use_error>\n```", "There is no tool Grep."],
  ["plain ``` text", "plain ``` text"],
  ["```sh\na\n```\nand\n```sh\nb\n```", "```sh\na\n```\nand\n```sh\nb\n```"],
])("what an agent put around an output is left out: %j", (text, shown) => expect(withoutFence(text)).toBe(shown));

test.each([
  ["Open https://a.example/x?code=AB-CD and enter AB-CD.", ["https://a.example/x?code=AB-CD"]],
  ["(see http://localhost:8080/cb). https://a.example, again https://a.example", ["http://localhost:8080/cb", "https://a.example"]],
  ["ftp://a.example javascript:alert(1)", []],
])("links in %s", (text, links) => expect(linksIn(text)).toEqual(links));
