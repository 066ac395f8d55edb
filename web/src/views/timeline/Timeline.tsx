// The conversation, as a virtual list: only what is near the window is in the
// page. It follows the end while the reader is there, and never moves else.

import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { Virtualizer } from "virtua";
import { loadOlder } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { Status } from "../../protocol/types";
import type { UiMessage } from "../../state/appState";
import { rowsOf } from "../../state/turns";
import { Icon } from "../ui/Icon";
import { Entry } from "./Entry";
import { useFolds } from "./folds";
import { useFollow } from "./follow";

/** The height of what stands before the entries; it never changes. */
const START_MARGIN = 40;

export function Timeline({ chat, sent }: { chat: string; sent: number }) {
  const host = useHost();
  const messages = useApp((state) => state.messages);
  const isStreaming = useApp((state) => state.streaming);
  const cursor = useApp((state) => state.chat?.turnsNextCursor);
  const activity = useApp((state) => state.chat?.activity);
  const isBlocked = useApp((state) => ((state.chat?.status ?? 0) & Status.InputNeeded) === Status.InputNeeded);
  const isStarting = useApp((state) => state.session?.lifecycle === "creating");
  const scroller = useRef<HTMLDivElement>(null);
  const { isFollowing, onScroll, toEnd } = useFollow(scroller);
  const wasPrepended = usePrepended(messages);
  const { folded, toggle } = useFolds();
  const rows = useMemo(() => rowsOf(messages, folded), [messages, folded]);

  // Whoever says something here wants to see it.
  useLayoutEffect(() => toEnd(), [sent, toEnd]);

  const isLoading = useRef(false);
  const onScrolled = () => {
    onScroll();
    const top = scroller.current?.scrollTop ?? 0;
    if (top > 800 || !cursor || isLoading.current) return;
    isLoading.current = true;
    void loadOlder(host, chat, cursor).finally(() => (isLoading.current = false));
  };
  useEffect(() => {
    // A window that is not full yet has nothing to scroll.
    const element = scroller.current;
    if (!element || !cursor || isLoading.current || element.scrollHeight > element.clientHeight + 800) return;
    isLoading.current = true;
    void loadOlder(host, chat, cursor).finally(() => (isLoading.current = false));
  }, [host, chat, cursor, messages.length]);

  return (
    <div className="timeline-frame">
      <div className="timeline" ref={scroller} onScroll={onScrolled} tabIndex={0} role="log" aria-live="off" aria-label="Conversation">
        <div className="timeline-content">
          <div className="timeline-more">{cursor && "Loading earlier turns…"}</div>
          <Virtualizer scrollRef={scroller} shift={wasPrepended} data={rows} bufferSize={600} itemSize={90} startMargin={START_MARGIN}>
            {(row, index) => (
              <Entry
                key={row.message.id}
                message={row.message}
                isLast={index === rows.length - 1}
                isStreaming={isStreaming && index === rows.length - 1}
                turnStart={row.turnStart}
                folded={row.folded}
                onFold={row.canFold ? toggle : undefined}
                chat={chat}
              />
            )}
          </Virtualizer>
          {isStreaming && (
            <div className="working" aria-hidden="true">
              <span className="working-dots" /> {isBlocked ? "Waiting for you" : isStarting ? "Starting the agent" : activity || "Working"}
            </div>
          )}
        </div>
      </div>
      {!isFollowing && (
        <button type="button" className="to-end" onClick={toEnd}>
          <Icon name="arrowDown" /> Latest
        </button>
      )}
    </div>
  );
}

/**
 * Whether this change put older entries before the ones that were there. True
 * for that one render only: the list must not take later entries for older.
 */
function usePrepended(messages: UiMessage[]): boolean {
  const first = messages[0]?.id;
  const shown = useRef(first);
  const before = shown.current;
  useLayoutEffect(() => {
    shown.current = first;
  }, [first]);
  return before !== undefined && before !== first && messages.some(({ id }) => id === before);
}
