import { expect, test } from "vitest";
import { recentProjects } from "./projects";
import { summary } from "./testing";

test("the latest directory comes first, and each stands there once", () => {
  const at = (modifiedAt: string, directory: string) => summary({ modifiedAt, workingDirectories: [directory] });
  const sessions = [at("2026-01-01", "file:///a"), at("2026-01-03", "file:///b/"), at("2026-01-02", "file:///b"), summary({ modifiedAt: "2026-02-01" })];
  expect(recentProjects(sessions)).toEqual([
    { uri: "file:///b", name: "b", usedAt: "2026-01-03" },
    { uri: "file:///a", name: "a", usedAt: "2026-01-01" },
  ]);
});

test("a session in a worktree counts for its project", () => {
  const session = summary({ project: { uri: "file:///kitchen", displayName: "kitchen" }, workingDirectories: ["file:///data/worktrees/1"] });
  expect(recentProjects([session]).map(({ uri }) => uri)).toEqual(["file:///kitchen"]);
});
