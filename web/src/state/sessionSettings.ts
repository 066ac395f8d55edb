// What can be set about a session, in the order in which people think of it.

import type { ConfigPropertySchema, ConfigSchema, JsonObject, SessionState } from "../protocol/types";

/** The host may learn some of it when the session is open already. No action changes a schema, so that part stands in `_meta`. */
export function schemaOfSession({ config, _meta }: Pick<SessionState, "config" | "_meta">): ConfigSchema | undefined {
  const ours = _meta?.innkeeper as { settings?: Partial<ConfigSchema> } | undefined;
  const later = ours?.settings?.properties;
  if (!config || !later) return config?.schema;
  return { ...config.schema, properties: { ...later, ...config.schema.properties } };
}

/** How the agent works comes first, then where, and last what it goes on with. */
const FIRST = ["mode", "effort", "thinkingLevel", "reasoningEffort", "autoApprove", "isolation", "branch"];
const LAST = ["continue"];

/** The settings of a schema, always in the same order; switches come after choices. */
export function inOrder(properties: Record<string, ConfigPropertySchema>): [key: string, property: ConfigPropertySchema][] {
  const rank = ([key, { type }]: [string, ConfigPropertySchema]) => {
    if (FIRST.includes(key)) return FIRST.indexOf(key);
    if (LAST.includes(key)) return 1_000 + LAST.indexOf(key);
    return type === "boolean" ? 500 : 100;
  };
  return Object.entries(properties).sort((a, b) => rank(a) - rank(b) || (a[1].title || a[0]).localeCompare(b[1].title || b[0]));
}

/** Whether a setting means anything with the others as they are: a branch is where a worktree begins. */
export function isMeaningful(key: string, schema: ConfigSchema, values: JsonObject): boolean {
  if (key !== "branch" || !schema.properties["isolation"]) return true;
  return (values["isolation"] ?? schema.properties["isolation"].default) === "worktree";
}

export interface Choice {
  value: unknown;
  label: string;
  about?: string;
}

export function choicesOf({ enum: values = [], enumLabels, enumDescriptions }: ConfigPropertySchema): Choice[] {
  return values.map((value, index) => {
    const about = enumDescriptions?.[index];
    return { value, label: enumLabels?.[index] ?? humanized(value), ...(about ? { about: withoutTicks(about) } : {}) };
  });
}

/** A bare value as words: `smart_approve` is “Smart approve”, `acceptEdits` “Accept edits”. */
export function humanized(value: unknown): string {
  if (typeof value !== "string") return String(value);
  const words = value.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words === "" ? value : words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** Descriptions are Markdown at times; here they are plain text. */
export function withoutTicks(text: string): string {
  return text.replaceAll("`", "");
}

type Configured = Pick<SessionState, "config" | "_meta">;

/** A setting with choices that may be changed while the session lives. */
export function changeable(session: Configured, key: string): ConfigPropertySchema | undefined {
  const property = schemaOfSession(session)?.properties[key];
  return property?.sessionMutable && !property.readOnly && (property.enum?.length ?? 0) > 1 ? property : undefined;
}

/** The mode after the current one, around and around. */
export function nextMode(session: Configured): unknown {
  const property = changeable(session, "mode");
  const modes = property?.enum;
  if (!modes) return undefined;
  const current = session.config?.values["mode"] ?? property.default;
  return modes[(modes.indexOf(current) + 1) % modes.length];
}
