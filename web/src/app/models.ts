// The model that was chosen last with an agent: new sessions begin with it.

import type { ModelSelection } from "../protocol/types";
import { usePreference, writePreference } from "./preferences";

interface Chosen {
  id: string;
  config?: ModelSelection["config"];
}

const isChosen = (value: unknown): value is Chosen => typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";
const NOTHING: Chosen = { id: "" };

export function rememberModel(provider: string, model: ModelSelection | undefined): void {
  writePreference(`model.${provider}`, model ?? NOTHING);
}

export function useLastModel(provider: string): [Chosen, (model: Chosen) => void] {
  return usePreference<Chosen>(`model.${provider}`, NOTHING, isChosen);
}
