// Asking the host for what was said, and for what it has cost.

import { useEffect, useState } from "react";
import type { URI } from "../protocol/types";
import { SEARCH, USAGE } from "../state/search";
import type { Field, Found, SearchResult, UsageItem } from "../state/search";
import type { Host } from "./host";
import { messageOf } from "./sessions";

const PAUSE_MS = 200;
/** Shorter words are in every session. */
export const SHORTEST = 2;

export interface Question {
  query: string;
  in?: Field[];
  provider?: string;
  directory?: URI;
  archived?: boolean;
  limit?: number;
}

export interface Answer {
  items: Found[];
  isLooking: boolean;
  problem?: string;
  /** There is more than was looked at, or not all can be found yet. */
  note?: string;
  more?: () => void;
}

function ask(host: Host, question: Question, cursor?: string): Promise<SearchResult> {
  return host.connection.request<SearchResult>(SEARCH, { channel: "ahp-root://", ...question, ...(cursor ? { cursor } : {}) });
}

const NOTHING: Answer = { items: [], isLooking: false };

/** What is found, a moment after the question has changed. What was found before stays until then. */
export function useSearch(host: Host, question: Question | undefined): Answer {
  const [answer, setAnswer] = useState(NOTHING);
  const key = question && question.query.trim().length >= SHORTEST ? JSON.stringify(question) : undefined;
  useEffect(() => {
    if (key === undefined) return;
    let isCurrent = true;
    const asked = JSON.parse(key) as Question;
    const look = async (known: Found[], cursor?: string): Promise<void> => {
      if (isCurrent) setAnswer((before) => ({ ...before, isLooking: true, problem: undefined }));
      try {
        const { items, nextCursor, truncated, indexing } = await ask(host, asked, cursor);
        if (!isCurrent) return;
        const all = [...known, ...items];
        setAnswer({
          items: all,
          isLooking: false,
          note: indexing ? "Some sessions cannot be found yet." : truncated ? "There is more than was looked through. Use more words or a filter." : undefined,
          more: nextCursor ? () => void look(all, nextCursor) : undefined,
        });
      } catch (error) {
        if (isCurrent) setAnswer({ items: known, isLooking: false, problem: messageOf(error) });
      }
    };
    const timer = setTimeout(() => void look([]), PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [host, key]);
  return key === undefined ? NOTHING : answer;
}

/** What turns have used since a day, by day and agent. */
export async function usageSince(host: Host, from: Date, session?: URI): Promise<UsageItem[]> {
  const params = { channel: "ahp-root://", from: from.toISOString(), utcOffsetMinutes: -from.getTimezoneOffset(), ...(session ? { session } : {}) };
  const { items } = await host.connection.request<{ items: UsageItem[] }>(USAGE, params);
  return items;
}
