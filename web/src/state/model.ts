// Which model a chat speaks to next, how hard it thinks, how full it is.

import { money } from "../lib/text";
import { tokens } from "../lib/time";
import type { ChatState, ConfigSchema, ModelInfo, ModelSelection, RootState, SessionState, UsageInfo } from "../protocol/types";
import type { AppState, ContextUsage, ThinkingLevel } from "./appState";

/** Names under which agents publish how hard a model should think. */
const THINKING_KEYS = ["thinkingLevel", "thinking_level", "reasoningEffort", "reasoning_effort", "effort", "thinking"];

export function selectedModel(chat: ChatState): ModelSelection | undefined {
  return chat.draft?.model ?? chat.activeTurn?.message.model ?? chat.turns.at(-1)?.message.model;
}

/** What is known about the model that answers: the one that was chosen, that the agent names, that answered last, or that the agent begins with. */
export function currentModel(models: readonly ModelInfo[], chat: ChatState | undefined, session?: Pick<SessionState, "defaultChat" | "_meta">): ModelInfo | undefined {
  const usage = chat && (chat.activeTurn?.usage ?? chat.turns.findLast((turn) => turn.usage?.model)?.usage);
  const isLeading = chat !== undefined && chat.resource === session?.defaultChat;
  const named = isLeading ? (session?._meta?.innkeeper as { model?: unknown } | undefined)?.model : undefined;
  const id = (chat && selectedModel(chat)?.id) ?? named ?? usage?.model;
  return models.find((model) => model.id === id) ?? usualModel(models);
}

/** The model that answers unless another is chosen, where the agent says which. */
export function usualModel(models: readonly ModelInfo[]): ModelInfo | undefined {
  return models.length === 1 ? models[0] : models.find(isUsual);
}

export function isUsual({ _meta }: ModelInfo): boolean {
  return (_meta?.innkeeper as { default?: unknown } | undefined)?.default === true;
}

/** The commit that the host was built from, where its build knew. */
export function commitOf(root: RootState | undefined): string | undefined {
  const commit = (root?._meta?.hostBuild as { commit?: unknown } | undefined)?.commit;
  return typeof commit === "string" ? commit : undefined;
}

export function modelsOf(root: RootState | undefined, session: Pick<SessionState, "provider"> | undefined): ModelInfo[] {
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
  const { contextUsed, contextWindow } = usage._meta ?? {};
  const used = typeof contextUsed === "number" ? contextUsed : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  const window = typeof contextWindow === "number" ? contextWindow : info?.maxContextWindow;
  return { used, window, usage };
}

export interface Cost {
  amount: number;
  /** As ISO 4217 has it. */
  currency: string;
}

/** What a turn cost, or the conversation up to it, where the agent says so. */
export function costIn(usage: UsageInfo | undefined, of: "cost" | "sessionCost"): Cost | undefined {
  const cost = usage?._meta?.[of] as Partial<Cost> | undefined;
  if (typeof cost?.amount !== "number" || typeof cost.currency !== "string") return undefined;
  return { amount: cost.amount, currency: cost.currency };
}

/** How long a turn waited for a person, in milliseconds, where the host says so. */
export function waitedIn(usage: UsageInfo | undefined): number | undefined {
  const { waitedMs } = (usage?._meta?.["innkeeper"] ?? {}) as { waitedMs?: unknown };
  return typeof waitedMs === "number" && waitedMs >= 0 ? waitedMs : undefined;
}

/** What is known about a model besides its name, in a few words. */
export function aboutModel({ maxContextWindow, _meta }: ModelInfo): string | undefined {
  const { description, pricing } = _meta ?? {};
  const facts: string[] = [];
  if (typeof description === "string" && description) facts.push(description);
  if (maxContextWindow) facts.push(`${tokens(maxContextWindow)} context`);
  const prices = pricing as { input?: unknown; output?: unknown; currency?: unknown; per?: unknown } | undefined;
  if (typeof prices?.input === "number" && typeof prices.output === "number" && typeof prices.currency === "string" && prices.per === 1_000_000) {
    const [input, output] = [prices.input, prices.output].map((amount) => money({ amount, currency: String(prices.currency) }));
    facts.push(`${input} in, ${output} out for 1M tokens`);
  }
  return facts.join(" · ") || undefined;
}

/** Whether the current session's agent can take up a copied conversation. */
export function canForkIn({ root, session }: Pick<AppState, "root" | "session">): boolean {
  const agent = root?.agents.find(({ provider }) => provider === session?.provider);
  return agent?.capabilities?.multipleChats?.fork === true;
}

/** Where a list is so long that nobody reads it, the models that were chosen lately stand first. */
const LONG_LIST = 8;

export function lately(models: readonly ModelInfo[], ids: readonly string[]): ModelInfo[] {
  if (models.length <= LONG_LIST) return [];
  return ids.flatMap((id) => models.find((model) => model.id === id) ?? []);
}
