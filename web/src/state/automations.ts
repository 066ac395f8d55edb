// Automations: what is shown of them, and how a form becomes one.

import type { AutomationDefinition, AutomationEntry, AutomationPlugin, AutomationRunSummary, AutomationTrigger, JsonObject, PluginCustomization, URI } from "../protocol/types";
import { nameOf, fileUri, pathOf } from "../protocol/uri";
import { inWords } from "./schedule";

export const AUTOMATIONS: URI = "ahp-automations://";

/** What a person says about an automation. */
export interface AutomationForm {
  title: string;
  text: string;
  provider: string;
  model: string;
  directory: URI | undefined;
  config: JsonObject;
  /** Directories with plugins, a path on each line. */
  plugins: string;
  expression: string;
  timeZone: string;
  catchesUp: boolean;
  /** Files whose change begins a run, as a pattern. */
  glob: string;
  afterSession: boolean;
}

const SCHEDULE = "schedule";
const FILES = "files";
const SESSION = "session";

export function emptyForm(timeZone: string): AutomationForm {
  return {
    title: "",
    text: "",
    provider: "",
    model: "",
    directory: undefined,
    config: {},
    plugins: "",
    expression: "",
    timeZone,
    catchesUp: true,
    glob: "",
    afterSession: false,
  };
}

export function formOf({ definition }: AutomationEntry, timeZone: string): AutomationForm {
  const { title, message, session, triggers } = definition;
  const schedule = triggers.find((trigger) => trigger.kind === "schedule");
  const files = triggers.find((trigger) => trigger.kind === "event" && trigger.type === FILES);
  const glob = files?.kind === "event" ? files.config?.["glob"] : undefined;
  return {
    title,
    text: message.text,
    provider: session.provider ?? "",
    model: session.model?.id ?? "",
    directory: session.workingDirectories?.[0],
    config: session.config ?? {},
    plugins: (session.customizations ?? []).filter(isOnHost).map(({ uri }) => pathOf(uri)).join("\n"),
    expression: schedule?.schedule.expression ?? "",
    timeZone: schedule?.schedule.timeZone ?? timeZone,
    catchesUp: schedule?.misfirePolicy !== "skip",
    glob: typeof glob === "string" ? glob : "",
    afterSession: triggers.some((trigger) => trigger.kind === "event" && trigger.type === SESSION),
  };
}

/** The definition that a form says, with what it does not show as it was. */
export function definitionOf(form: AutomationForm, before?: AutomationDefinition): AutomationDefinition {
  return {
    ...before,
    title: form.title.trim(),
    message: { ...before?.message, text: form.text, origin: { kind: "automation" } },
    session: {
      ...before?.session,
      provider: form.provider || undefined,
      model: modelOf(form, before),
      workingDirectories: directoriesOf(form, before),
      config: Object.keys(form.config).length ? form.config : undefined,
      customizations: pluginsOf(form, before),
    },
    enabled: before?.enabled ?? true,
    triggers: triggersOf(form, before?.triggers ?? []),
  };
}

function modelOf({ model: id }: AutomationForm, before?: AutomationDefinition) {
  const known = before?.session.model;
  return known?.id === id ? known : id ? { id } : undefined;
}

/** The form shows the first directory. */
function directoriesOf({ directory }: AutomationForm, before?: AutomationDefinition) {
  const others = before?.session.workingDirectories?.slice(1).filter((uri) => uri !== directory) ?? [];
  const all = directory ? [directory, ...others] : others;
  return all.length ? all : undefined;
}

const isOnHost = ({ uri }: AutomationPlugin) => uri.startsWith("file:");

/** A plugin that was there stays the same one, so that its copy stays too. */
function pluginsOf({ plugins }: AutomationForm, before?: AutomationDefinition) {
  const known = before?.session.customizations ?? [];
  const paths = plugins.split("\n").map((line) => line.trim()).filter(Boolean);
  const shown = [...new Set(paths)].map((path): AutomationPlugin => {
    const uri = fileUri(path);
    return known.find((plugin) => plugin.uri === uri) ?? { type: "plugin", id: uri, uri, name: nameOf(uri) };
  });
  const all = [...known.filter((plugin) => !isOnHost(plugin)), ...shown];
  return all.length ? all : undefined;
}

function triggersOf(form: AutomationForm, before: AutomationTrigger[]): AutomationTrigger[] {
  const schedule = before.find((trigger) => trigger.kind === "schedule");
  const eventOf = (type: string) => before.find((trigger) => trigger.kind === "event" && trigger.type === type);
  const shown = [schedule, eventOf(FILES), eventOf(SESSION)];
  const triggers: AutomationTrigger[] = before.filter((trigger) => !shown.includes(trigger));
  if (form.expression.trim()) {
    triggers.push({
      kind: "schedule",
      id: schedule?.id ?? SCHEDULE,
      schedule: { expression: form.expression.trim(), timeZone: form.timeZone },
      misfirePolicy: form.catchesUp ? "runOnce" : "skip",
    });
  }
  // The host says what events are called.
  const event = (id: string) => ({ id, title: id });
  if (form.glob.trim()) {
    const known = eventOf(FILES);
    const config = { ...(known?.kind === "event" ? known.config : undefined), glob: form.glob.trim() };
    const events = known?.kind === "event" ? known.events : ["added", "updated", "deleted"].map(event);
    triggers.push({ kind: "event", id: known?.id ?? FILES, type: FILES, title: FILES, events, config });
  }
  if (form.afterSession) {
    const known = eventOf(SESSION);
    triggers.push(known ?? { kind: "event", id: SESSION, type: SESSION, title: SESSION, events: [event("turnCompleted")] });
  }
  return triggers;
}

/** When it runs, for people. */
export function whenOf({ triggers }: AutomationDefinition): string {
  const words = triggers.map((trigger) =>
    trigger.kind === "schedule"
      ? `${inWords(trigger.schedule.expression) ?? trigger.schedule.expression} (${trigger.schedule.timeZone})`
      : `${trigger.title}: ${trigger.events.map(({ title }) => title.toLowerCase()).join(", ")}`,
  );
  return words.join("; ") || "Only when you run it";
}

/** A plugin with how much there is in it. */
export function pluginInWords({ name, children, load }: PluginCustomization): string {
  if (load?.kind === "error" || load?.kind === "degraded") return `the plugin ${name} (${load.message})`;
  const count = children?.length ?? 0;
  return `the plugin ${name} (${count === 1 ? "1 part" : `${count} parts`})`;
}

/** Why a run has not begun. */
export function waitsFor({ _meta }: AutomationRunSummary): string | undefined {
  const why = (_meta?.["innkeeper"] as { waitsFor?: unknown } | undefined)?.waitsFor;
  return typeof why === "string" ? why : undefined;
}

/** What is wrong with triggers. */
export function problemsOf({ _meta }: AutomationEntry): string[] {
  const problems = (_meta?.["innkeeper"] as { problems?: unknown } | undefined)?.problems;
  return typeof problems === "object" && problems ? Object.values(problems).filter((why): why is string => typeof why === "string") : [];
}

export function isUnderWay({ lifecycle }: AutomationRunSummary): boolean {
  return lifecycle.status === "pending" || lifecycle.status === "running";
}
