import { useState } from "react";
import { go } from "../../app/address";
import { say } from "../../app/chat";
import { useApp, useHost, useRoute } from "../../app/context";
import { complete } from "../../app/resources";
import { money } from "../../lib/text";
import { tokens } from "../../lib/time";
import { costIn } from "../../state/model";
import { knows, USAGE } from "../../state/search";
import { Menu } from "../ui/Menu";
import type { MenuItem } from "../ui/Menu";

const RADIUS = 7;
const AROUND = 2 * Math.PI * RADIUS;
/** From here on there is little room left. */
const FULL = 0.8;
/** What agents call the command that makes a conversation shorter. */
const COMPACT = /^\/(compact|compress|summarize)$/;

/** How full the model's context is, what the conversation has cost, and what can be done about it. */
export function ContextMeter({ chat }: { chat: string }) {
  const host = useHost();
  const route = useRoute();
  const usage = useApp((state) => state.contextUsage);
  const isStreaming = useApp((state) => state.streaming);
  const hasUsage = useApp((state) => knows(state.root, USAGE));
  const [command, setCommand] = useState<string>();
  if (!usage || (usage.used === 0 && usage.window === undefined)) return null;
  const { used, window } = usage;
  const share = window ? Math.min(1, used / window) : undefined;
  const cost = costIn(usage.usage, "sessionCost");
  const context = window ? `${tokens(used)} of ${tokens(window)} tokens of context` : `${tokens(used)} tokens`;
  const about = cost ? `${context}, ${money(cost)} so far` : context;
  const seen = share === undefined ? context : `${Math.round(share * 100)}%`;
  // It is called first what it shows: some say what they see to choose it.
  const label = `${seen}${cost ? ` ${money(cost)} so far` : ""}${share === undefined ? "" : `: ${context}`}`;
  // Asked when somebody is about to choose: only the agent knows its commands.
  const ask = () => {
    if (command !== undefined) return;
    void complete(host, chat, "/comp", 5).then((found) => setCommand(found.map(({ insertText }) => insertText.trim()).find((text) => COMPACT.test(text)) ?? ""));
  };
  const items: MenuItem[] = [
    ...(command ? [{ label: "Compact the conversation", about: `Sends ${command} to the agent`, icon: "fold" as const, run: () => say(host, chat, { text: command }, isStreaming ? "queue" : "send") }] : []),
    ...(hasUsage ? [{ label: "Usage by day", icon: "clock" as const, run: () => go({ view: "settings" }) }] : []),
    { label: "Details and settings", icon: "settings" as const, run: () => route.view === "session" && go({ ...route, pane: "details", turn: undefined }) },
  ];
  if (items[0]) items[0] = { ...items[0], heading: about };
  return (
    <span className="chip-slot" onPointerEnter={ask} onFocus={ask}>
      <Menu label={label} className={share !== undefined && share >= FULL ? "context-meter full" : "context-meter"} items={items}>
        {share !== undefined && (
          <svg className="context-ring" viewBox="0 0 18 18" aria-hidden="true">
            <circle cx="9" cy="9" r={RADIUS} />
            <circle cx="9" cy="9" r={RADIUS} strokeDasharray={`${share * AROUND} ${AROUND}`} />
          </svg>
        )}
        <span className={share === undefined ? "context-alone" : "only-wide"}>{seen}</span>
        {cost && <span>{money(cost)}</span>}
      </Menu>
    </span>
  );
}
