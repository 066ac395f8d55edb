// What can be set about a session that exists.

import type { ConfigSchema, SessionState } from "../protocol/types";

/** The host may learn some of it when the session is open already. No action changes a schema, so that part stands in `_meta`. */
export function schemaOfSession({ config, _meta }: Pick<SessionState, "config" | "_meta">): ConfigSchema | undefined {
  const ours = _meta?.innkeeper as { settings?: Partial<ConfigSchema> } | undefined;
  const later = ours?.settings?.properties;
  if (!config || !later) return config?.schema;
  return { ...config.schema, properties: { ...later, ...config.schema.properties } };
}
