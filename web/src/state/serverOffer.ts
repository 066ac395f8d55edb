// What an MCP server answers when it is asked what it offers.

export const OFFERS = ["tools", "prompts", "resources"] as const;
export type OfferKind = (typeof OFFERS)[number];

export interface Offered {
  name: string;
  description?: string;
}

/** One page of an answer; whatever is not what it should be is left out. */
export function offeredIn(kind: OfferKind, answer: unknown): { items: Offered[]; next?: string } {
  const page = (answer ?? {}) as Record<string, unknown>;
  const found = Array.isArray(page[kind]) ? (page[kind] as unknown[]) : [];
  const items = found.flatMap((item) => {
    const { name, title, uri, description } = (item ?? {}) as Record<string, unknown>;
    const shown = [title, name, uri].find((it) => typeof it === "string" && it !== "") as string | undefined;
    return shown ? [{ name: shown, ...(typeof description === "string" ? { description } : {}) }] : [];
  });
  return typeof page.nextCursor === "string" && page.nextCursor ? { items, next: page.nextCursor } : { items };
}

/** What a notification of a server is about: a list that has changed, or words for people. */
export function saidBy(params: Record<string, unknown>): { changed: OfferKind } | { words: string } | undefined {
  const changed = OFFERS.find((kind) => params.method === `notifications/${kind}/list_changed`);
  if (changed) return { changed };
  if (params.method !== "notifications/message") return undefined;
  const { data, level } = (params.params ?? {}) as { data?: unknown; level?: unknown };
  const words = typeof data === "string" ? data : JSON.stringify(data ?? "");
  return { words: typeof level === "string" ? `${level}: ${words}` : words };
}
