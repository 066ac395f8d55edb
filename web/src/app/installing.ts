// Asking the host for agents to install, and to install one of them.

import { useCallback, useEffect, useRef, useState } from "react";
import { CANCEL_INSTALL, INSTALL, INSTALLABLE, installToken } from "../state/installing";
import type { Installable, Installation } from "../state/installing";
import type { Host } from "./host";
import { messageOf } from "./sessions";

const ROOT = "ahp-root://";

export interface Installing {
  /** Nothing while they are being asked for. */
  items: Installable[] | undefined;
  problem: string | undefined;
  asked: ReadonlyMap<string, Installation>;
  install: (agent: Installable) => Promise<void>;
  cancel: (provider: string) => Promise<void>;
}

export function useInstalling(host: Host, isConnected: boolean): Installing {
  const [items, setItems] = useState<Installable[]>();
  const [problem, setProblem] = useState<string>();
  const [asked, setAsked] = useState<ReadonlyMap<string, Installation>>(new Map());
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  useEffect(() => {
    if (!isConnected) return;
    host.connection.request<{ items: Installable[] }>(INSTALLABLE, { channel: ROOT }).then(
      (answer) => {
        setItems(answer.items);
        setProblem(undefined);
      },
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, [host, isConnected]);

  const stands = useCallback((provider: string, how: Installation) => setAsked((before) => new Map(before).set(provider, how)), []);
  const install = useCallback(
    async ({ provider, name }: Installable) => {
      stands(provider, { kind: "running" });
      try {
        const params = { channel: ROOT, provider, progressToken: installToken(provider) };
        const { version } = await host.connection.request<{ version: string }>(INSTALL, params);
        stands(provider, { kind: "done", version });
        if (!isShown.current) host.store.notify({ tone: "info", text: `${name} ${version} is installed.` });
      } catch (error) {
        const why = messageOf(error);
        stands(provider, { kind: "failed", why });
        if (!isShown.current) host.store.notify({ tone: "error", text: `${name} was not installed: ${why}` });
      }
    },
    [host, stands],
  );
  const cancel = useCallback(
    async (provider: string) => {
      try {
        await host.connection.request(CANCEL_INSTALL, { channel: ROOT, provider });
      } catch (error) {
        setProblem(messageOf(error));
      }
    },
    [host],
  );
  return { items, problem, asked, install, cancel };
}
