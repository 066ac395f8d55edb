import { choose } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import type { AgentSelection, SessionState } from "../../protocol/types";
import { Menu } from "../ui/Menu";

interface Choice {
  uri: string;
  name: string;
}

/** Custom agents of the session that a person may call. */
export function agentsOf(session: SessionState | undefined): Choice[] {
  const children = (session?.customizations ?? []).flatMap((known) => ("children" in known ? (known.children ?? []) : []));
  return children.flatMap((child) => {
    const isAgent = child.type === "agent" && child.enabled !== false && !child.disableUserInvocation;
    return isAgent ? [{ uri: child.uri, name: child.name }] : [];
  });
}

export function AgentPicker({ chat }: { chat: string }) {
  const host = useHost();
  const session = useApp((state) => state.session);
  const draft = useApp((state) => state.chat?.draft);
  const agents = agentsOf(session);
  if (agents.length === 0) return null;
  const current = agents.find(({ uri }) => uri === draft?.agent?.uri);
  const select = (agent: AgentSelection | undefined) => choose(host, chat, { agent });
  return (
    <Menu
      label={`Agent: ${current?.name ?? "default"}`}
      className="picker"
      items={[
        { label: "Default", isChecked: !current, run: () => select(undefined) },
        ...agents.map(({ uri, name }) => ({ label: name, isChecked: uri === current?.uri, run: () => select({ uri }) })),
      ]}
    >
      <span>{current?.name ?? "Agent"}</span>
    </Menu>
  );
}
