import { expect, test } from "vitest";
import { schemaOfSession } from "./sessionSettings";

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
