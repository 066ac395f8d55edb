// What is known about an agent before a session with it begins.

import type { AgentInfo } from "../protocol/types";
import { withoutTicks } from "./sessionSettings";

/** Whether it was heard of yet, works, or wants something first. */
export type AgentReadiness = "checking" | "ready" | "signIn";

/**
 * The host lists an agent as soon as its program is found, and describes it by
 * its command alone until the program has run. What keeps it from running takes
 * the place of the description.
 */
export function readinessOf({ description, protectedResources, models }: AgentInfo): AgentReadiness {
  if (/\b(sign(ed)?[ -]?in|log(ged)?[ -]?in|authenticat\w*)\b/i.test(description)) return "signIn";
  // A token that the agent could use keeps nobody out.
  if (protectedResources?.some(({ required }) => required !== false)) return "signIn";
  return models.length === 0 && /^`[^`]+`$/.test(description.trim()) ? "checking" : "ready";
}

const BADGES: Record<AgentReadiness, string | undefined> = { checking: "checking…", ready: undefined, signIn: "sign in" };

export function badgeOf(agent: AgentInfo): string | undefined {
  return BADGES[readinessOf(agent)];
}

/** What an agent is, in a line. */
export function aboutAgent({ description }: AgentInfo): string {
  return withoutTicks(description);
}

/** The agent to begin with: the one that was asked for, the usual one, or the first that works. */
export function agentToBeginWith(agents: readonly AgentInfo[], wanted: string | undefined, usual: unknown): AgentInfo | undefined {
  const known = (provider: unknown) => agents.find((agent) => agent.provider === provider);
  // The one that plays scenarios is for trying things out.
  return known(wanted) ?? known(usual) ?? agents.find(({ provider }) => provider !== "script") ?? agents[0];
}
