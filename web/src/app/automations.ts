// What a person does with automations.

import { newId } from "../lib/id";
import type { AutomationDefinition, URI } from "../protocol/types";
import { AUTOMATIONS } from "../state/automations";
import type { Host } from "./host";
import { messageOf } from "./sessions";

export function create({ store }: Host, definition: AutomationDefinition): URI {
  const resource = `ahp-automation:/${newId()}`;
  store.dispatch(AUTOMATIONS, { type: "automation/createRequested", resource, definition });
  return resource;
}

export function update({ store }: Host, resource: URI, changes: Partial<AutomationDefinition>): void {
  store.dispatch(AUTOMATIONS, { type: "automation/updateRequested", resource, changes });
}

export function removeAutomation({ store }: Host, resource: URI): void {
  store.dispatch(AUTOMATIONS, { type: "automation/removed", resource });
}

/** Asked again after a loss, it is the same run. */
export async function runNow({ connection, store }: Host, automation: URI): Promise<void> {
  const params = { channel: AUTOMATIONS, automation, requestId: newId() };
  try {
    await connection.persist("runAutomation", params);
  } catch (error) {
    store.notify({ tone: "error", text: `It was not run: ${messageOf(error)}` });
  }
}

export function cancelRun({ store }: Host, run: URI): void {
  store.dispatch(run, { type: "automationRun/cancelRequested" });
}

export async function fetchOlder({ connection, store }: Host, automation: URI, cursor: string): Promise<void> {
  try {
    await connection.request("fetchAutomationRuns", { channel: AUTOMATIONS, automation, cursor });
  } catch (error) {
    store.notify({ tone: "error", text: messageOf(error) });
  }
}
