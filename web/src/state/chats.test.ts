import { expect, test } from "vitest";
import type { ChatSummary } from "../protocol/types";
import type { AppState } from "./appState";
import { canRemoveDirectory, canReplaceFirst, directoryActions, placeAfter, sessionsThatFit } from "./chats";

const chat = (resource: string, movable = true): ChatSummary => ({ resource, title: resource, status: 1, modifiedAt: "", movable });
const chats = [chat("main", false), chat("a"), chat("b")];

test.each([
  ["a", -1, {}],
  ["a", 1, { after: "b" }],
  ["b", -1, { after: "main" }],
  ["b", 1, undefined],
  ["main", 1, undefined],
  ["none", 1, undefined],
] as const)("chat %s moved by %s goes to its new place", (moved, by, place) => {
  expect(placeAfter(chats, moved, by)).toEqual(place);
});

function known(several: object | undefined, workingDirectories: string[]) {
  const agent = { provider: "x", capabilities: { multipleWorkingDirectories: several } };
  return { root: { agents: [agent] }, session: { provider: "x", workingDirectories } } as unknown as AppState;
}

test.each([
  ["an agent with one directory", undefined, ["a", "b"], "b", false],
  ["the first of equal ones", {}, ["a", "b"], "a", true],
  ["the last one", {}, ["a"], "a", false],
  ["an immutable first one", { immutablePrimary: true }, ["a", "b"], "a", false],
  ["a replaceable first one", { primaryReplacement: true }, ["a", "b"], "a", false],
  ["one after an immutable first one", { immutablePrimary: true }, ["a", "b"], "b", true],
])("whether a directory can be removed: %s", (_, several, directories, directory, can) => {
  expect(canRemoveDirectory(known(several, directories), directory)).toBe(can);
});

test.each([
  ["an agent with one directory", undefined, ["a"], false],
  ["equal ones", {}, ["a", "b"], false],
  ["an immutable one", { immutablePrimary: true }, ["a"], false],
  ["a replaceable one", { immutablePrimary: true, primaryReplacement: true }, ["a"], true],
  ["none", { primaryReplacement: true }, [], false],
])("whether the first directory can be replaced: %s", (_, several, directories, can) => {
  expect(canReplaceFirst(known(several, directories))).toBe(can);
});

test.each([
  ["one more", ["a"], "b", true, ["Set b"]],
  ["all, which it does anyway", undefined, "b", true, []],
  ["one less", ["a", "b"], "b", false, ["Removed b"]],
  ["not in all any more", undefined, "b", false, ["Set a", "Set c"]],
])("a chat works in %s", (_, own, directory, isUsed, said) => {
  const actions = directoryActions(own, ["a", "b", "c"], directory, isUsed);
  expect(actions.map((action) => `${action.type.replace("chat/workingDirectory", "")} ${"directory" in action ? action.directory : ""}`)).toEqual(said);
});

test("a chat is offered the sessions with its agent in its directories", () => {
  const row = (resource: string, provider: string, workingDirectories?: string[]) => ({ resource, provider, workingDirectories });
  const state = {
    session: { provider: "x", workingDirectories: ["a"] },
    sessions: [row("own", "x", ["a"]), row("fits", "x", ["a"]), row("agent", "y", ["a"]), row("more", "x", ["a", "b"]), row("nowhere", "x")],
  } as unknown as AppState;
  expect(sessionsThatFit(state, "own").map(({ resource }) => resource)).toEqual(["fits"]);
});
