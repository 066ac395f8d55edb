// The conversation, as a virtual list: only what is near the window is in the
// page. It follows the end while the reader is there, and never moves else.

import { lazy, Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { Virtualizer } from "virtua";
import type { VirtualizerHandle } from "virtua";
import { loadOlder } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { rowsOf } from "../../state/turns";
import type { Group, Row } from "../../state/turns";
import { Icon } from "../ui/Icon";
import { Entry } from "./Entry";
import { useFolds } from "./folds";
import { useFollow } from "./follow";
import { memoryOf, MemoryContext } from "./memory";
import { Origin } from "./Origin";
import { PinnedTodos } from "./PinnedTodos";
import { START_MARGIN, useArrival, useFinding, useJumps, useReveal } from "./places";
import { Working } from "./Working";

const FindBar = lazy(() => import("./FindBar"));

interface Props {
  chat: string;
  /** How often something was said here. */
  sent: number;
  /** The turn to begin reading at, if not at the end. */
  at: string | undefined;
}

export function Timeline({ chat, sent, at }: Props) {
  const host = useHost();
  const messages = useApp((state) => state.messages);
  const isStreaming = useApp((state) => state.streaming);
  const cursor = useApp((state) => state.chat?.turnsNextCursor);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const memory = useMemo(() => memoryOf(chat), [chat]);
  const { isFollowing, onScroll, toEnd, leave } = useFollow(scroller, memory.place === undefined);
  const wasPrepended = usePrepended(messages);
  const { folding, toggleTurn, unfoldTurn, openGroup } = useFolds(memory);
  const rows = useMemo(() => rowsOf(messages, folding), [messages, folding]);

  // Whoever says something here wants to see it.
  const saidBefore = useRef(sent);
  useLayoutEffect(() => {
    if (saidBefore.current !== sent || memory.place === undefined) toEnd();
    saidBefore.current = sent;
  }, [sent, toEnd, memory]);

  // Whoever comes back is where they were.
  useLayoutEffect(() => {
    const { place } = memory;
    const index = place ? rows.findIndex(({ key }) => key === place.key) : -1;
    if (place && index >= 0) list.current?.scrollToIndex(index, { align: "start", offset: place.offset });
    else if (place) toEnd();
    // Only where the reader begins.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [memory]);

  const note = useCallback(() => {
    const top = scroller.current?.scrollTop ?? 0;
    const at = list.current?.findItemIndex(top - START_MARGIN) ?? 0;
    const row = rows[at];
    memory.place = row && list.current ? { key: row.key, offset: top - START_MARGIN - list.current.getItemOffset(at) } : undefined;
  }, [memory, rows]);
  useEffect(() => {
    if (isFollowing) memory.place = undefined;
  }, [isFollowing, memory]);

  // What somebody reads does not close under their eyes.
  const live = liveGroup(rows);
  useEffect(() => {
    if (!isFollowing && live?.isLive && live.isOpen) openGroup(live.id, true);
  }, [isFollowing, live, openGroup]);

  const reveal = useReveal({ rows, list, memory, leave, unfoldTurn, openGroup });
  useJumps({ rows, list, scroller, leave, toEnd });
  const [isFinding, setFinding] = useFinding();

  const isLoading = useRef(false);
  const older = useCallback(() => {
    if (!cursor || isLoading.current) return;
    isLoading.current = true;
    void loadOlder(host, chat, cursor).finally(() => (isLoading.current = false));
  }, [host, chat, cursor]);
  useArrival({ at, messages, hasMore: cursor !== undefined, older, reveal, unfoldTurn });
  const onScrolled = () => {
    onScroll();
    if (!isFollowing) note();
    const top = scroller.current?.scrollTop ?? 0;
    if (top <= 800) older();
  };
  useEffect(() => {
    // A window that is not full yet has nothing to scroll.
    const element = scroller.current;
    if (element && element.scrollHeight <= element.clientHeight + 800) older();
  }, [older, messages.length]);

  return (
    <MemoryContext value={memory}>
      <div className="timeline-frame">
        <Origin />
        {isFinding && (
          <Suspense>
            <FindBar
              chat={chat}
              scroller={scroller}
              onReveal={reveal}
              onClose={() => {
                setFinding(false);
                scroller.current?.focus({ preventScroll: true });
              }}
            />
          </Suspense>
        )}
        <div className="timeline-view">
        <div className="timeline" ref={scroller} onScroll={onScrolled} tabIndex={0} role="log" aria-live="off" aria-label="Conversation">
          <div className="timeline-content">
            <div className="timeline-more">{cursor && "Loading earlier turns…"}</div>
            <Virtualizer ref={list} scrollRef={scroller} shift={wasPrepended} data={rows} bufferSize={600} itemSize={60} startMargin={START_MARGIN}>
              {(row, index) => (
                <Entry
                  key={row.key}
                  row={row}
                  isLast={index === rows.length - 1}
                  isStreaming={isStreaming && index === rows.length - 1}
                  onFold={toggleTurn}
                  onOpenGroup={openGroup}
                  chat={chat}
                />
              )}
            </Virtualizer>
            {isStreaming && <Working chat={chat} />}
          </div>
        </div>
        {!isFollowing && (
          <button type="button" className="to-end" onClick={toEnd}>
            <Icon name="arrowDown" /> Latest
          </button>
        )}
        </div>
        <PinnedTodos />
      </div>
    </MemoryContext>
  );
}

/** The group that may still grow: one of the last turn. */
function liveGroup(rows: readonly Row[]): Group | undefined {
  for (let at = rows.length - 1; at >= 0 && !rows[at]?.message.turn; at--) if (rows[at]?.group?.isLive) return rows[at]?.group;
  return undefined;
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
