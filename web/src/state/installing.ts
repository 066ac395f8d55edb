// Agents that the host can install for whoever asks (docs/agents.md).

import type { AgentInfo } from "../protocol/types";

export const INSTALLABLE = "innkeeper/installableAgents";
export const INSTALL = "innkeeper/installAgent";
export const CANCEL_INSTALL = "innkeeper/cancelInstallAgent";

export interface Installable {
  provider: string;
  name: string;
  description: string;
  source: string;
  package: string;
  version: string;
  installed?: string;
  installing: boolean;
}

/** How an installation stands that was asked for on this page. */
export type Installation = { kind: "running" } | { kind: "done"; version: string } | { kind: "failed"; why: string };

/** By which the host says how far an installation is. */
export function installToken(provider: string): string {
  return `install:${provider}`;
}

/** The agents to offer: those that are not there, and those that were asked for here. */
export function toInstall(items: readonly Installable[], agents: readonly Pick<AgentInfo, "provider">[], asked: ReadonlyMap<string, Installation>): Installable[] {
  const isThere = (provider: string) => agents.some((agent) => agent.provider === provider);
  return items.filter(({ provider }) => asked.has(provider) || !isThere(provider));
}

/** What the row of an agent says, besides what the agent is. */
export function installStatus({ installing }: Installable, asked: Installation | undefined, line: string | undefined): string | undefined {
  switch (asked?.kind) {
    case "running":
      return line ?? "Installing…";
    case "done":
      return `Version ${asked.version} is installed`;
    case "failed":
      return asked.why;
    case undefined:
      return installing ? (line ?? "Installing for someone else…") : undefined;
  }
}

/** Whether anybody is left to begin with but the agent that plays scenarios. */
export function hasNoAgent(agents: readonly Pick<AgentInfo, "provider">[]): boolean {
  return agents.every(({ provider }) => provider === "script");
}
