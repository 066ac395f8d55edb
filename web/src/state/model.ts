// Which model a chat speaks to next, how hard it thinks, how full it is.

import type { ChatState, ConfigSchema, ModelInfo, ModelSelection, RootState, SessionState } from "../protocol/types";
import type { AppState, ContextUsage, ThinkingLevel } from "./appState";

/** Names under which agents publish how hard a model should think. */
const THINKING_KEYS = ["thinkingLevel", "thinking_level", "reasoningEffort", "reasoning_effort", "effort", "thinking"];

export function selectedModel(chat: ChatState): ModelSelection | undefined {
  return chat.draft?.model ?? chat.activeTurn?.message.model ?? chat.turns.at(-1)?.message.model;
}

export function modelsOf(root: RootState | undefined, session: SessionState | undefined): ModelInfo[] {
  return root?.agents.find((agent) => agent.provider === session?.provider)?.models ?? [];
}

export function thinkingKey(schema: ConfigSchema | undefined): string | undefined {
  return THINKING_KEYS.find((key) => schema?.properties[key]?.enum?.length);
}

export function thinkingLevel(model: ModelSelection | undefined, info: ModelInfo | undefined): ThinkingLevel | undefined {
  const key = thinkingKey(info?.configSchema);
  if (!key) return undefined;
  const value = model?.config?.[key] ?? info?.configSchema?.properties[key]?.default;
  return typeof value === "string" ? value : undefined;
}

export function contextUsage(chat: ChatState, models: ModelInfo[]): ContextUsage | undefined {
  const usage = chat.activeTurn?.usage ?? chat.turns.findLast((turn) => turn.usage)?.usage;
  if (!usage) return undefined;
  const id = usage.model ?? selectedModel(chat)?.id;
  const info = models.find((model) => model.id === id) ?? (models.length === 1 ? models[0] : undefined);
  const used = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  return { used, window: info?.maxContextWindow, usage };
}

/** Whether the current session's agent can take up a copied conversation. */
export function canForkIn({ root, session }: Pick<AppState, "root" | "session">): boolean {
  const agent = root?.agents.find(({ provider }) => provider === session?.provider);
  return agent?.capabilities?.multipleChats?.fork === true;
}
