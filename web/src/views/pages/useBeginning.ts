// What a session is to begin with: agent, directory, model and settings, as they
// were chosen last, and what the host says about them.

import { useCallback, useEffect, useMemo, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { useLastModel } from "../../app/models";
import { completeConfig, resolveConfig } from "../../app/sessions";
import { remembered } from "../../app/settings";
import type { AgentInfo, ConfigState, JsonObject, ModelSelection, URI } from "../../protocol/types";
import { agentToBeginWith } from "../../state/agents";
import { fileUri, pathOf } from "../../protocol/uri";

const PAUSE_MS = 250;
const lastAgent = remembered("agent");
const lastDirectory = remembered("directory");
const NO_AGENTS: AgentInfo[] = [];

export interface Beginnings {
  agents: AgentInfo[];
  agent: AgentInfo | undefined;
  setProvider: (provider: string) => void;
  directory: URI | undefined;
  setDirectory: (directory: URI | undefined) => void;
  model: ModelSelection | undefined;
  setModel: (model: ModelSelection | undefined) => void;
  /** What can be set, once the host has said so. */
  config: ConfigState | undefined;
  values: JsonObject;
  setValue: (key: string, value: unknown) => void;
  suggest: (key: string, query: string) => Promise<{ value: string; label: string }[]>;
  remember: () => void;
}

export function useBeginning(): Beginnings {
  const host = useHost();
  const agents = useApp((state) => state.root?.agents) ?? NO_AGENTS;
  const usual = useApp((state) => state.root?.config?.values["defaultAgent"]);
  const defaultDirectory = useApp((state) => state.connection.defaultDirectory);
  const [wanted, setProvider] = useState(() => lastAgent.read());
  const [chosen, setDirectory] = useState<{ uri: URI | undefined }>();
  const [values, setValues] = useState<JsonObject>({});
  const agent = agentToBeginWith(agents, wanted, usual);
  const provider = agent?.provider;
  const kept = lastDirectory.read();
  const directory = chosen ? chosen.uri : kept !== undefined ? fileOf(kept) : defaultDirectory;
  const [last, setLast] = useLastModel(provider ?? "");
  const isOffered = agent?.models.some(({ id }) => id === last.id) ?? false;
  const model = useMemo(() => (isOffered ? { id: last.id, ...(last.config ? { config: last.config } : {}) } : undefined), [isOffered, last]);
  const config = useConfig(agent, directory, values);

  return {
    agents,
    agent,
    setProvider: useCallback((next: string) => {
      setProvider(next);
      // Settings of one agent mean nothing to another.
      setValues({});
    }, []),
    directory,
    setDirectory: useCallback((uri: URI | undefined) => setDirectory({ uri }), []),
    model,
    setModel: (next) => setLast(next ? { id: next.id, config: next.config } : { id: "" }),
    config,
    values,
    setValue: useCallback((key: string, value: unknown) => setValues((known) => ({ ...known, [key]: value })), []),
    suggest: useCallback((key: string, query: string) => completeConfig(host, { provider, directory, config: values }, key, query), [host, provider, directory, values]),
    remember: () => {
      if (provider) lastAgent.write(provider);
      lastDirectory.write(directory ? pathOf(directory) : "");
    },
  };
}

function fileOf(path: string): URI | undefined {
  return path ? fileUri(path) : undefined;
}

/** The settings that fit. They are asked for again when more is known about the agent; whoever types a directory is let finish. */
function useConfig(agent: AgentInfo | undefined, directory: URI | undefined, values: JsonObject): ConfigState | undefined {
  const host = useHost();
  const [found, setFound] = useState<{ provider: string; config: ConfigState }>();
  const place = useSettled(directory);
  const provider = agent?.provider;
  useEffect(() => {
    if (!provider) return;
    let isCurrent = true;
    resolveConfig(host, { provider, directory: place, config: values }).then(
      (config) => isCurrent && setFound({ provider, config }),
      () => isCurrent && setFound(undefined),
    );
    return () => {
      isCurrent = false;
    };
    // The agent itself, and not its name alone: it changes when its settings become known.
  }, [host, agent, provider, place, values]);
  return found?.provider === provider ? found?.config : undefined;
}

/** A value once it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
