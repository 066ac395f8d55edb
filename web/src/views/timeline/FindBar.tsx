// Looks for words in the conversation, in what is loaded and, turn by turn, in
// what is not. The marks are laid over the page by the browser: nothing that
// is shown changes for them.

import { useEffect, useMemo, useRef, useState } from "react";
import type { KeyboardEvent, RefObject } from "react";
import { loadOlder } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { findIn, startAt } from "../../state/find";
import type { Hit } from "../../state/find";
import { Icon } from "../ui/Icon";
import { marksIn, withoutMarks } from "./marks";
import "../../styles/find.css";

interface Props {
  chat: string;
  scroller: RefObject<HTMLElement | null>;
  onReveal: (hit: Hit) => void;
  onClose: () => void;
}

/** Pages of earlier turns that are loaded before somebody is asked whether to go on. */
const PAGES = 20;

export default function FindBar({ chat, scroller, onReveal, onClose }: Props) {
  const host = useHost();
  const messages = useApp((state) => state.messages);
  const cursor = useApp((state) => state.chat?.turnsNextCursor);
  const [query, setQuery] = useState("");
  const [shown, setShown] = useState<string>();
  const [pages, setPages] = useState({ loaded: 0, allowed: PAGES });
  const input = useRef<HTMLInputElement>(null);
  const hits = useMemo(() => findIn(messages, query), [messages, query]);
  const at = shown === undefined ? -1 : hits.findIndex(({ id }) => id === shown);
  const isSearching = query.trim() !== "" && cursor !== undefined && pages.loaded < pages.allowed;

  useEffect(() => input.current?.focus(), []);
  useEffect(() => withoutMarks, []);

  // Earlier turns come one page after the other.
  useEffect(() => {
    if (!isSearching || !cursor) return;
    let isCurrent = true;
    void loadOlder(host, chat, cursor).finally(() => {
      if (isCurrent) setPages((known) => ({ ...known, loaded: known.loaded + 1 }));
    });
    return () => {
      isCurrent = false;
    };
  }, [host, chat, cursor, isSearching]);

  // What comes into the page is marked as it comes.
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    let frame = 0;
    const mark = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => marksIn(element, query.trim(), shown));
    };
    mark();
    const observer = new MutationObserver(mark);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
    };
  }, [scroller, query, shown]);

  const show = (index: number) => {
    const hit = hits[(index + hits.length) % hits.length];
    if (!hit) return;
    setShown(hit.id);
    onReveal(hit);
  };
  const change = (next: string) => {
    setQuery(next);
    const found = findIn(messages, next);
    const hit = found[startAt(found, shown)];
    setShown(hit?.id);
    if (hit) onReveal(hit);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter") show(at < 0 ? startAt(hits, undefined) : at + (event.shiftKey ? -1 : 1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const found = hits.length === 0 ? (query.trim() && !isSearching ? "Nothing found" : "") : at < 0 ? `${hits.length.toLocaleString()} found` : `${(at + 1).toLocaleString()} of ${hits.length.toLocaleString()}`;
  return (
    <div className="find-bar" role="search" aria-label="Find in this conversation">
      <Icon name="search" />
      <input ref={input} type="text" value={query} placeholder="Find in this conversation" aria-label="Find in this conversation" onChange={({ target }) => change(target.value)} onKeyDown={onKeyDown} />
      <span className="find-count" aria-live="polite">
        {found}
      </span>
      {isSearching && <span className="find-count">Looking at earlier turns…</span>}
      {query.trim() && cursor && !isSearching && (
        <button type="button" className="link-button" onClick={() => setPages(({ loaded }) => ({ loaded, allowed: loaded + PAGES }))}>
          Look further back
        </button>
      )}
      <button type="button" className="icon-button small" aria-label="Previous match" title="Previous match (Shift Enter)" disabled={hits.length === 0} onClick={() => show(at - 1)}>
        <Icon name="arrowUp" />
      </button>
      <button type="button" className="icon-button small" aria-label="Next match" title="Next match (Enter)" disabled={hits.length === 0} onClick={() => show(at + 1)}>
        <Icon name="arrowDown" />
      </button>
      <button type="button" className="icon-button small" aria-label="Close" onClick={onClose}>
        <Icon name="close" />
      </button>
    </div>
  );
}
