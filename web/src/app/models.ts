// The models that were chosen last with an agent: new sessions begin with the
// latest, and long lists with all of them.

import type { ModelSelection } from "../protocol/types";
import { isTexts, readPreference, usePreference, writePreference } from "./preferences";

interface Chosen {
  id: string;
  config?: ModelSelection["config"];
}

const isChosen = (value: unknown): value is Chosen => typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";
const NOTHING: Chosen = { id: "" };

const NONE: string[] = [];
const MOST_LATELY = 3;
const latelyOf = (provider: string) => `models.${provider}`;

export function rememberModel(provider: string, model: ModelSelection | undefined): void {
  writePreference(`model.${provider}`, model ?? NOTHING);
}

/** Those that were chosen lately, the latest first. */
export function useModelsLately(provider: string): string[] {
  return usePreference(latelyOf(provider), NONE, isTexts)[0];
}

export function rememberChoice(provider: string, id: string): void {
  const others = readPreference(latelyOf(provider), NONE, isTexts).filter((other) => other !== id);
  writePreference(latelyOf(provider), [id, ...others].slice(0, MOST_LATELY));
}

export function useLastModel(provider: string): [Chosen, (model: Chosen) => void] {
  return usePreference<Chosen>(`model.${provider}`, NOTHING, isChosen);
}
