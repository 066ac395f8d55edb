import { lazy, Suspense, useState } from "react";
import { go, hrefOf } from "../../app/address";
import { say } from "../../app/chat";
import { useApp, useHost, useRoute } from "../../app/context";
import { fork } from "../../app/sessions";
import type { UiMessage } from "../../state/appState";
import { attemptOf } from "../../state/attempts";
import { changesOfTurn } from "../../state/changesets";
import { takenBackWith } from "../../state/checkpoints";
import { canForkIn, costIn, waitedIn } from "../../state/model";
import { copyText } from "../../lib/clipboard";
import { money } from "../../lib/text";
import { took, tokens } from "../../lib/time";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import type { MenuItem } from "../ui/Menu";

const TakeBackDialog = lazy(() => import("./TakeBackDialog"));

interface Props {
  start: UiMessage;
  chat: string;
  isLast: boolean;
  text: string;
}

/** A shorter wait is not worth a word. */
const SHORTEST_WAIT = 1_000;

/** What is known once a turn has ended, and what can be done from there. */
export function TurnFooter({ start, chat, isLast, text }: Props) {
  const { turn } = start;
  const usage = turn?.usage;
  const cost = costIn(usage, "cost");
  const seen = useApp((state) => state.pace.waited.get(start.turnId ?? ""));
  const waited = waitedIn(usage) ?? seen ?? 0;
  const hasTokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0) > 0;
  return (
    <footer className={isLast ? "turn-footer last" : "turn-footer"}>
      {turn?.state === "cancelled" && <span className="turn-stopped">Stopped</span>}
      {turn?.duration !== undefined && <span title={waited >= SHORTEST_WAIT ? `Without the ${took(waited)} that it waited for you` : undefined}>{took(Math.max(0, turn.duration - waited))}</span>}
      {usage && hasTokens && (
        <span title="Tokens in and out">
          {tokens(usage.inputTokens ?? 0)} in · {tokens(usage.outputTokens ?? 0)} out
        </span>
      )}
      {cost && <span title="Cost of this turn, as reported by the agent">{money(cost)}</span>}
      {usage?.model && <span>{usage.model}</span>}
      <span className="turn-actions">
        {text && <CopyButton text={text} label="Copy answer" />}
        <TurnActions start={start} chat={chat} />
      </span>
    </footer>
  );
}

function TurnActions({ start: { turn, turnId = "" }, chat }: Pick<Props, "start" | "chat">) {
  const host = useHost();
  const route = useRoute();
  const session = useApp((state) => state.currentSessionId);
  const canFork = useApp((state) => canForkIn(state) && turn?.state !== "running");
  const isStreaming = useApp((state) => state.streaming);
  const hasChanges = useApp((state) => changesOfTurn(state.session, state.chat, turnId) !== undefined);
  const said = useApp((state) => state.chat?.turns.find(({ id }) => id === turnId)?.message);
  const directory = useApp((state) => attemptOf(state.session)?.directory ?? state.session?.project?.uri ?? state.session?.workingDirectories?.[0]);
  const isHere = useApp((state) => state.currentChatId === chat);
  const taken = useApp((state) => takenBackWith(state, turnId));
  const [asked, setAsked] = useState<"edit" | "take back">();
  const onFork = async () => {
    if (!session || !turnId) return;
    const forked = await fork(host, session, chat, turnId);
    if (forked) go({ view: "session", session, chat: forked });
  };
  if (!isHere || !session) return null;
  const items: MenuItem[] = [
    ...(said && !isStreaming ? [{ label: "Send this message again", icon: "refresh" as const, run: () => say(host, chat, said, "send") }] : []),
    ...(said ? [{ label: "Try in several attempts…", icon: "fork" as const, run: () => void import("../../app/attempts").then(({ tryAgain }) => tryAgain(host, said, directory)) }] : []),
    ...(taken ? [{ label: "Edit and send again…", icon: "edit" as const, run: () => setAsked("edit") }] : []),
    ...(taken ? [{ label: "Take back this turn…", icon: "undo" as const, run: () => setAsked("take back") }] : []),
    ...(route.view === "session" ? [{ label: "Copy link to this turn", icon: "link" as const, run: () => void copyText(new URL(hrefOf({ view: "session", session, chat: route.chat, at: turnId }), location.href).href) }] : []),
    ...(canFork ? [{ label: "Fork from here", icon: "fork" as const, run: () => void onFork() }] : []),
  ];
  return (
    <>
      {hasChanges && route.view === "session" && (
        <a className="icon-button small" href={hrefOf({ ...route, pane: "changes", turn: turnId })} aria-label="Changes of this turn" title="Changes of this turn">
          <Icon name="diff" />
        </a>
      )}
      {items.length > 0 && (
        <Menu label="More about this turn" className="icon-button small" items={items}>
          <Icon name="more" />
        </Menu>
      )}
      {asked && taken && (
        <Suspense>
          <TakeBackDialog chat={chat} turnId={turnId} said={taken} isEditing={asked === "edit"} onClose={() => setAsked(undefined)} />
        </Suspense>
      )}
    </>
  );
}
