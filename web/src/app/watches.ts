// Files that somebody looks at are followed: the host says when they change.

import type { URI } from "../protocol/types";
import type { Host } from "./host";

export type Change = "added" | "updated" | "deleted";

interface Changed {
  action?: { type: string; changes?: { items?: { uri: URI; type: Change }[] } };
}

/** What a notification says of one file; nothing, if it is about others. */
export function changeOf(uri: URI, method: string, params: Changed): Change | undefined {
  if (method !== "action" || params.action?.type !== "resourceWatch/changed") return undefined;
  return params.action.changes?.items?.findLast((item) => item.uri === uri)?.type;
}

/** Follows a file until the returned function is called. */
export function watchFile(host: Host, uri: URI, changed: (change: Change) => void): () => void {
  let isWanted = true;
  let leave: (() => void) | undefined;
  const begin = async () => {
    const params = { channel: "ahp-root://", uri };
    const watch = await host.connection.persist<{ channel: URI }>("createResourceWatch", params).catch(() => undefined);
    if (!watch || !isWanted) return;
    leave = host.listening.to(watch.channel, {
      hear: (method, said) => {
        const change = changeOf(uri, method, said);
        if (change) changed(change);
      },
      // The host forgets a watch that nobody listened to for a while.
      gone: () => {
        if (!isWanted) return;
        changed("updated");
        void begin();
      },
    });
  };
  void begin();
  return () => {
    isWanted = false;
    leave?.();
  };
}
