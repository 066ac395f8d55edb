// How the list of sessions is shown in this browser, and which are pinned.

import { useMemo } from "react";
import type { URI } from "../protocol/types";
import type { GroupedBy } from "../state/listing";
import { isTexts, readPreference, usePreference, writePreference } from "./preferences";

const PINNED = "pinned";
const GROUPED_BY = "groupedBy";
/** More pins than anybody has; the oldest go. */
const MOST_PINS = 200;
const NONE: string[] = [];

const isGroupedBy = (value: unknown): value is GroupedBy => value === "state" || value === "project" || value === "date";

export function useGroupedBy(): [GroupedBy, (by: GroupedBy) => void] {
  return usePreference<GroupedBy>(GROUPED_BY, "date", isGroupedBy);
}

export function usePinned(): ReadonlySet<URI> {
  const [pinned] = usePreference(PINNED, NONE, isTexts);
  return useMemo(() => new Set(pinned), [pinned]);
}

export function pin(sessions: readonly URI[], isPinned: boolean): void {
  const others = readPreference(PINNED, NONE, isTexts).filter((known) => !sessions.includes(known));
  writePreference(PINNED, (isPinned ? [...others, ...sessions] : others).slice(-MOST_PINS));
}
