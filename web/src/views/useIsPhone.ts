import { useSyncExternalStore } from "react";
import { PHONE } from "../lib/device";

/** Whether there is room for one thing at a time only, as the style sheet says it. */
export function useIsPhone(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const query = matchMedia(PHONE);
      query.addEventListener("change", changed);
      return () => query.removeEventListener("change", changed);
    },
    () => matchMedia(PHONE).matches,
  );
}
