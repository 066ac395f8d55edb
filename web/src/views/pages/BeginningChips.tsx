// What a session is to begin with, as chips: at the editor who answers and how,
// below it where the work is done.

import { lazy, Suspense, useState } from "react";
import { useApp } from "../../app/context";
import type { ConfigPropertySchema, URI } from "../../protocol/types";
import { fileUri, nameOf, pathOf } from "../../protocol/uri";
import { aboutAgent, badgeOf, readinessOf } from "../../state/agents";
import { MOST_ATTEMPTS } from "../../state/attempts";
import { thinkingLevel, usualModel } from "../../state/model";
import { recentProjects } from "../../state/projects";
import { inOrder, isMeaningful } from "../../state/sessionSettings";
import { ModelMenu } from "../composer/ModelMenu";
import { SettingMenu } from "../composer/SettingMenu";
import { AgentMark } from "../ui/AgentMark";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import type { MenuItem } from "../ui/Menu";
import type { Beginnings } from "./useBeginning";

const DirectoryPicker = lazy(() => import("../DirectoryPicker").then((module) => ({ default: module.DirectoryPicker })));
const InstallDialog = lazy(() => import("./InstallDialog").then((module) => ({ default: module.InstallDialog })));
const OptionsDialog = lazy(() => import("./OptionsDialog").then((module) => ({ default: module.OptionsDialog })));

/** Settings that have a chip, and where; the others are behind “More options”. */
const AT_EDITOR: Record<string, IconName> = { mode: "sparkle" };
const BELOW: Record<string, IconName> = { isolation: "worktree", branch: "branch", autoApprove: "shield" };

/** Attempts work in worktrees, whatever else was chosen. */
const SEVERAL_BELOW: Record<string, IconName> = { branch: "branch", autoApprove: "shield" };

export function EditorChips({ beginning }: { beginning: Beginnings }) {
  const { agent, model, setModel } = beginning;
  const [isInstalling, setInstalling] = useState(false);
  const models = agent?.models.filter(({ policyState }) => policyState !== "disabled") ?? [];
  const info = models.find(({ id }) => id === model?.id) ?? usualModel(models);
  return (
    <>
      <AgentChip beginning={beginning} onInstall={() => setInstalling(true)} />
      <ModelMenu models={models} info={info} model={model} level={thinkingLevel(model, info)} hasDefault={models.length > 1} onChoose={setModel} />
      <SettingChips beginning={beginning} icons={AT_EDITOR} />
      {agent && readinessOf(agent) === "checking" && (
        <span className="badge" role="status">
          checking {agent.displayName}…
        </span>
      )}
      <Suspense>{isInstalling && <InstallDialog onClose={() => setInstalling(false)} />}</Suspense>
    </>
  );
}

interface PlaceProps {
  beginning: Beginnings;
  /** How often the prompt is tried; nothing, where it can only be tried once. */
  attempts: number | undefined;
  onAttempts: (attempts: number) => void;
}

export function PlaceChips({ beginning, attempts, onAttempts }: PlaceProps) {
  const [isOpen, setOpen] = useState(false);
  const isSeveral = attempts !== undefined && attempts > 1;
  const place = isSeveral ? { ...beginning, values: { ...beginning.values, isolation: "worktree" } } : beginning;
  const others = settingsOf(beginning).filter(([key, property]) => !hasChip(key, property));
  return (
    <div className="home-place">
      <FolderChip directory={beginning.directory} onChoose={beginning.setDirectory} />
      <SettingChips beginning={place} icons={isSeveral ? SEVERAL_BELOW : BELOW} />
      {attempts !== undefined && <AttemptsChip attempts={attempts} onChoose={onAttempts} />}
      {others.length > 0 && (
        <button type="button" className="picker" aria-label="More options" title="More options" onClick={() => setOpen(true)}>
          <Icon name="sliders" /> <span>More</span>
        </button>
      )}
      <Suspense>
        {isOpen && beginning.config && <OptionsDialog beginning={beginning} config={beginning.config} keys={others.map(([key]) => key)} onClose={() => setOpen(false)} />}
      </Suspense>
    </div>
  );
}

function settingsOf({ config, values }: Beginnings): [string, ConfigPropertySchema][] {
  if (!config) return [];
  return inOrder(config.schema.properties).filter(([key]) => isMeaningful(key, config.schema, { ...config.values, ...values }));
}

function hasChip(key: string, { enum: choices, enumDynamic }: ConfigPropertySchema): boolean {
  return (key in AT_EDITOR || key in BELOW) && (!!choices?.length || enumDynamic === true);
}

function SettingChips({ beginning, icons }: { beginning: Beginnings; icons: Record<string, IconName> }) {
  const { agent, config, values, setValue, suggest } = beginning;
  return settingsOf(beginning)
    .filter(([key, property]) => key in icons && hasChip(key, property))
    .map(([key, property]) => (
      <SettingMenu
        key={`${agent?.provider}:${key}`}
        property={property}
        value={values[key] ?? config?.values[key]}
        icon={icons[key]}
        suggest={property.enumDynamic ? (query) => suggest(key, query) : undefined}
        onChange={(value) => setValue(key, value)}
      />
    ));
}

function AttemptsChip({ attempts, onChoose }: { attempts: number; onChoose: (attempts: number) => void }) {
  const labelOf = (n: number) => (n === 1 ? "1 attempt" : `${n} attempts`);
  const items: MenuItem[] = Array.from({ length: MOST_ATTEMPTS }, (_, index) => ({
    label: labelOf(index + 1),
    ...(index === 1 ? { about: "Each in a new worktree, to be compared" } : {}),
    isChecked: index + 1 === attempts,
    run: () => onChoose(index + 1),
  }));
  return (
    <Menu label={`Attempts: ${labelOf(attempts)}`} className="picker" items={items}>
      <Icon name="fork" /> <span>{labelOf(attempts)}</span>
    </Menu>
  );
}

function FolderChip({ directory, onChoose }: { directory: URI | undefined; onChoose: (directory: URI | undefined) => void }) {
  const sessions = useApp((state) => state.sessions);
  const usual = useApp((state) => state.connection.defaultDirectory);
  const [isPicking, setPicking] = useState(false);
  const recent = recentProjects(sessions);
  const known = recent.some(({ uri }) => uri === usual) || !usual ? recent : [...recent, { uri: usual, name: nameOf(usual), usedAt: "" }];
  const items: MenuItem[] = [
    ...known.map(({ uri, name }, index) => ({
      label: name,
      about: pathOf(uri),
      icon: "folder" as const,
      isChecked: uri === directory,
      ...(index === 0 ? { heading: "Recent folders" } : {}),
      run: () => onChoose(uri),
    })),
    { label: "Browse…", icon: "search", heading: "", run: () => setPicking(true) },
    { label: "No folder", isChecked: directory === undefined, run: () => onChoose(undefined) },
  ];
  return (
    <>
      <Menu label={directory ? `Folder: ${pathOf(directory)}` : "Folder: none"} className="picker" items={items}>
        <Icon name="folder" /> <span>{directory ? nameOf(directory) : "No folder"}</span>
      </Menu>
      <Suspense>{isPicking && <DirectoryPicker start={directory ?? usual ?? fileUri("/")} onClose={() => setPicking(false)} onPick={onChoose} />}</Suspense>
    </>
  );
}

function AgentChip({ beginning: { agents, agent, setProvider }, onInstall }: { beginning: Beginnings; onInstall: () => void }) {
  const items: MenuItem[] = [
    ...agents.map((known) => ({
      label: known.displayName,
      about: aboutAgent(known),
      hint: badgeOf(known),
      isChecked: known === agent,
      run: () => setProvider(known.provider),
    })),
    { label: "Install another agent…", icon: "download", heading: "", run: onInstall },
  ];
  return (
    <Menu label={agent ? `Agent: ${agent.displayName}` : "No agent"} className="picker" items={items}>
      {agent ? <AgentMark provider={agent.provider} name={agent.displayName} /> : <Icon name="bot" />} <span>{agent?.displayName ?? "No agent"}</span>
    </Menu>
  );
}
