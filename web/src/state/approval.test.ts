import { describe, expect, test } from "vitest";
import type { ConfirmationOption, ToolResultContent } from "../protocol/types";
import { choicesOf, directoryOf, editableInput, isPiece, readInput, withoutTwins, saysCommand } from "./approval";

const option = (id: string, kind: "approve" | "deny", group?: number, label = id): ConfirmationOption => ({ id, label, kind, group });

describe("the options of the host stand in its order, and the careful one is known", () => {
  test.each<[string, ConfirmationOption[], string[], string | undefined, string | undefined]>([
    [
      "always first, as goose lists them",
      [option("allow_always", "approve", 1), option("allow_once", "approve", 0), option("reject_once", "deny", 0), option("reject_always", "deny", 1)],
      ["allow_always", "allow_once", "reject_once", "reject_always"],
      "allow_once",
      "reject_once",
    ],
    [
      "the group decides, whatever they are called",
      [option("b", "approve", 1), option("no", "deny", 1), option("a", "approve", 0)],
      ["b", "no", "a"],
      "a",
      "no",
    ],
    [
      "the name decides where the groups are alike",
      [option("session", "approve", 1, "Allow in this session"), option("once", "approve", 1), option("deny", "deny", 2)],
      ["session", "once", "deny"],
      "once",
      "deny",
    ],
    ["nothing but always: no key means it", [option("allow_always", "approve", 0), option("no", "deny", 0)], ["allow_always", "no"], undefined, "no"],
    ["an always in the lowest group is none, and neither is what lasts longer", [option("allow_always", "approve", 0), option("later", "approve", 1)], ["allow_always", "later"], undefined, undefined],
  ])("%s", (_, offered, order, approve, deny) => {
    const choices = choicesOf(offered);
    expect(choices.options.map(({ id }) => id)).toEqual(order);
    expect(choices.approve?.id).toBe(approve);
    expect(choices.deny?.id).toBe(deny);
  });

  test("identifiers are no labels", () => {
    expect(choicesOf([option("allow_once", "approve", 0)]).options[0]?.label).toBe("Allow once");
    expect(choicesOf([]).options.map(({ label }) => label)).toEqual(["Approve", "Deny"]);
  });
});

describe("an input in words", () => {
  test("a command is a command, with its lines, and nothing else is hidden", () => {
    const input = JSON.stringify({ command: "cd a\nls", description: "Look around", timeout: 5, commands: ["cd a\nls"], env: { A: "1", B: "x\ny" } });
    expect(readInput(input, undefined)).toEqual({
      command: "cd a\nls",
      description: "Look around",
      fields: [
        { name: "timeout", text: "5" },
        { name: "commands", text: "- cd a\n  ls" },
        { name: "env", text: "A: 1\nB:\n  x\n  y" },
      ],
    });
  });

  test("a plan is a plan, and where a command runs is a place; elsewhere the same names are fields", () => {
    expect(readInput(JSON.stringify({ plan: "# Roof\n\n1. Tiles" }), undefined)).toEqual({ plan: "# Roof\n\n1. Tiles", fields: [] });
    expect(readInput(JSON.stringify({ plan: [1], cwd: "/x" }), undefined)).toEqual({ fields: [{ name: "plan", text: "- 1" }, { name: "cwd", text: "/x" }] });
    expect(readInput(JSON.stringify({ command: "ls", cwd: "/x" }), undefined)).toEqual({ command: "ls", where: "/x", fields: [] });
    expect(readInput(JSON.stringify({ command: "ls", cwd: 3 }), undefined)).toEqual({ command: "ls", fields: [{ name: "cwd", text: "3" }] });
  });

  test("where the session of a chat works is found among the open channels", () => {
    const session = { kind: "session", state: { chats: [{ resource: "c" }, { resource: "d", workingDirectories: ["file:///d"] }], workingDirectories: ["file:///inn"] } };
    const channels = new Map([["s", session as never]]);
    expect([directoryOf(channels, "c"), directoryOf(channels, "d"), directoryOf(channels, "e")]).toEqual(["file:///inn", "file:///d", undefined]);
  });

  test("what is not JSON is a command in a terminal, and text elsewhere", () => {
    expect(readInput("rm -rf build", { toolKind: "terminal" })).toEqual({ command: "rm -rf build", fields: [] });
    expect(readInput("rm -rf build", undefined)).toEqual({ text: "rm -rf build", fields: [] });
    expect(readInput("[1]", undefined)).toEqual({ text: "[1]", fields: [] });
  });

  test("a command that is not text is a field like others", () => {
    expect(readInput('{"command":["ls","-l"]}', undefined)).toEqual({ fields: [{ name: "command", text: "- ls\n- -l" }] });
  });
});

describe("an input that is edited", () => {
  test("a command as such, and put back where it was", () => {
    const { text, toInput } = editableInput('{"command":"a\\nb","cwd":"/x"}');
    expect(text).toBe("a\nb");
    expect(JSON.parse(toInput("c") ?? "")).toEqual({ command: "c", cwd: "/x" });
  });

  test("other JSON with room to breathe, and only as JSON", () => {
    const { text, toInput } = editableInput('{"to":"prod"}');
    expect(text).toBe('{\n  "to": "prod"\n}');
    expect(toInput('{"to": "test"}')).toBe('{"to": "test"}');
    expect(toInput('{"to": ')).toBeUndefined();
  });

  test("text as it is", () => expect(editableInput("rm -rf build").toInput("ls")).toBe("ls"));
});

test("of edits that say the same, one is shown", () => {
  const edit = (name: string, content: string, size: number, added = 1): ToolResultContent => ({
    type: "fileEdit",
    before: { uri: name, content: { uri: `${content}-before`, sizeHint: size } },
    after: { uri: name, content: { uri: `${content}-after`, sizeHint: size } },
    diff: { added, removed: 0 },
  });
  const text: ToolResultContent = { type: "text", text: "Edit applied." };
  const [snippet, whole, other, more] = [edit("a", "snippet", 10), edit("a", "whole", 500), edit("b", "snippet", 10), edit("a", "more", 10, 7)];
  expect(withoutTwins([snippet, text, whole, other, more])).toEqual([text, whole, other, more]);
  expect(withoutTwins([whole, { ...whole }])).toHaveLength(1);
});

test("a piece of a file is not shown next to the whole of it", () => {
  const side = (uri: string, contentType: string) => ({ uri, content: { uri: `${uri}#${contentType}`, contentType } });
  const edit = (uri: string, type: string) => ({ type: "fileEdit" as const, before: side(uri, type), after: side(uri, type) });
  const [piece, whole, alone] = [edit("file:///a", "text/x-fragment"), edit("file:///a", "text/plain"), edit("file:///b", "text/x-fragment")];
  expect(withoutTwins([piece, whole, alone])).toEqual([whole, alone]);
  expect([piece, whole, alone].map(isPiece)).toEqual([true, false, true]);
});

test.each([
  ["cargo test", "cargo test", true],
  ["`cargo test`", "cargo test", true],
  ["cargo test && ca…", "cargo test && cargo build", true],
  ["printf a b", "printf a \n b", true],
  ["Run the tests", "cargo test", false],
  ["cargo", "cargo test", false],
  ["…", "cargo test", false],
  ["cargo test", undefined, false],
])("whether %j says what is run: %j", (line, command, isSaid) => expect(saysCommand(line, command)).toBe(isSaid));
