// The list of sessions as the host keeps it, with this client's own changes
// shown before the host has confirmed them.

import type { ServerEvent } from "../protocol/events";
import { Status } from "../protocol/types";
import type { SessionSummary, StateAction, URI } from "../protocol/types";
import { withFlag } from "./reducers/status";
import { sorted } from "./sessions";

type CatalogueEvent = Extract<ServerEvent, { type: `session${string}` }>;

export class Catalogue {
  isLoaded = false;
  private readonly summaries = new Map<URI, SessionSummary>();
  private readonly own = new Map<URI, Partial<SessionSummary>>();
  private readonly hidden = new Set<URI>();
  /** A listing in several pages: what it has not named by its end is gone. */
  private listed: Set<URI> | undefined;
  private cached: SessionSummary[] | undefined;

  handle(event: CatalogueEvent): void {
    this.cached = undefined;
    switch (event.type) {
      case "sessions":
        this.page(event);
        break;
      case "sessionAdded":
        this.put(event.summary);
        break;
      case "sessionRemoved":
        this.summaries.delete(event.session);
        this.hidden.delete(event.session);
        break;
      case "sessionSummaryChanged": {
        const known = this.summaries.get(event.session);
        this.own.delete(event.session);
        if (known) this.summaries.set(event.session, { ...known, ...event.changes, resource: known.resource });
        break;
      }
    }
  }

  private page(event: Extract<CatalogueEvent, { type: "sessions" }>): void {
    if (event.first) this.listed = new Set();
    for (const summary of event.items) {
      this.put(summary);
      this.listed?.add(summary.resource);
    }
    if (!event.last) return;
    this.isLoaded = true;
    for (const uri of this.summaries.keys()) if (!this.listed?.has(uri)) this.summaries.delete(uri);
    this.listed = undefined;
  }

  private put(summary: SessionSummary): void {
    this.summaries.set(summary.resource, summary);
    this.listed?.add(summary.resource);
    this.own.delete(summary.resource);
  }

  /** Shows the effect of an own action before the host confirms it. */
  foresee(session: URI, action: StateAction): void {
    const known = this.summaries.get(session);
    if (!known) return;
    const status = this.own.get(session)?.status ?? known.status;
    const changes: Partial<SessionSummary> | undefined =
      action.type === "session/titleChanged"
        ? { title: action.title }
        : action.type === "session/isArchivedChanged"
          ? { status: withFlag(status, Status.IsArchived, action.isArchived) }
          : action.type === "session/isReadChanged"
            ? { status: withFlag(status, Status.IsRead, action.isRead) }
            : undefined;
    if (!changes) return;
    this.own.set(session, { ...this.own.get(session), ...changes });
    this.cached = undefined;
  }

  forgetOwn(session: URI): void {
    if (this.own.delete(session)) this.cached = undefined;
  }

  hide(session: URI, hidden: boolean): void {
    if (hidden) this.hidden.add(session);
    else this.hidden.delete(session);
    this.cached = undefined;
  }

  list(): SessionSummary[] {
    this.cached ??= sorted(
      [...this.summaries.values()]
        .filter(({ resource }) => !this.hidden.has(resource))
        .map((summary) => ({ ...summary, ...this.own.get(summary.resource) })),
    );
    return this.cached;
  }
}
