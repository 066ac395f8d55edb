import { expect, test } from "vitest";
import type { ConfigPropertySchema } from "../protocol/types";
import { choicesOf, inOrder, isMeaningful, nextMode, schemaOfSession } from "./sessionSettings";

const early = { type: "string", title: "Early" };
const config = { schema: { type: "object", properties: { early } }, values: {} };

test("settings that came later stand next to those that were there", () => {
  const later = { type: "string", title: "Later" };
  const _meta = { innkeeper: { settings: { type: "object", properties: { early: later, later } } } };
  expect(schemaOfSession({ config, _meta })?.properties).toEqual({ early, later });
});

test("a session without later settings has its own", () => {
  expect(schemaOfSession({ config })).toBe(config.schema);
  expect(schemaOfSession({ config, _meta: { innkeeper: {} } })).toBe(config.schema);
  expect(schemaOfSession({})).toBeUndefined();
});

const choice = (title: string, more: Partial<ConfigPropertySchema> = {}): ConfigPropertySchema => ({ type: "string", title, ...more });

test("settings stand in the same order, however the host lists them", () => {
  const properties = {
    continue: choice("Continue"),
    fast: { type: "boolean", title: "Fast mode" },
    branch: choice("Branch"),
    zeal: choice("Zeal"),
    isolation: choice("Isolation"),
    autoApprove: choice("Approvals"),
    mode: choice("Mode"),
    apron: choice("Apron"),
  };
  const order = ["mode", "autoApprove", "isolation", "branch", "apron", "zeal", "fast", "continue"];
  const backwards = Object.fromEntries(Object.entries(properties).reverse());
  for (const listed of [properties, backwards]) expect(inOrder(listed).map(([key]) => key)).toEqual(order);
});

test("a branch means something only where there is a worktree to begin at it", () => {
  const schema = { type: "object", properties: { branch: choice("Branch"), isolation: choice("Isolation", { default: "folder" }) } };
  expect(isMeaningful("branch", schema, {})).toBe(false);
  expect(isMeaningful("branch", schema, { isolation: "worktree" })).toBe(true);
  expect(isMeaningful("isolation", schema, {})).toBe(true);
});

test("a bare value is put into words, and a label is kept", () => {
  expect(choicesOf({ ...choice("Mode"), enum: ["smart_approve", "acceptEdits", "xhigh", 3] }).map(({ label }) => label)).toEqual(["Smart approve", "Accept edits", "Xhigh", "3"]);
  expect(choicesOf({ ...choice("Mode"), enum: ["a"], enumLabels: ["Ask first"], enumDescriptions: ["Runs `ls`"] })).toEqual([{ value: "a", label: "Ask first", about: "Runs ls" }]);
});

test("the next mode follows the one that is set, around and around", () => {
  const mode = choice("Mode", { enum: ["ask", "plan", "auto"], default: "ask", sessionMutable: true });
  const at = (value?: string) => nextMode({ config: { schema: { type: "object", properties: { mode } }, values: value ? { mode: value } : {} } });
  expect([at(), at("plan"), at("auto")]).toEqual(["plan", "auto", "ask"]);
  expect(nextMode({ config: { schema: { type: "object", properties: { mode: { ...mode, sessionMutable: false } } }, values: {} } })).toBeUndefined();
});
