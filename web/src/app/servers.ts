// Asking MCP servers themselves, on their own channels.

import { ErrorCode, RpcError } from "../protocol/rpc";
import type { URI } from "../protocol/types";
import { offeredIn } from "../state/serverOffer";
import type { Offered, OfferKind } from "../state/serverOffer";
import type { Host } from "./host";

/** More pages than this are not a list to look through. */
const MOST_PAGES = 10;

/** All that a server offers of a kind; nothing, if it has no such thing. */
export async function offeredBy(host: Host, channel: URI, kind: OfferKind): Promise<Offered[] | undefined> {
  const all: Offered[] = [];
  let cursor: string | undefined;
  try {
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = { channel, method: `${kind}/list`, params: cursor ? { cursor } : {} };
      const { items, next } = offeredIn(kind, await host.connection.request("mcpMethodCall", params));
      all.push(...items);
      if (!next) break;
      cursor = next;
    }
    return all;
  } catch (error) {
    if (error instanceof RpcError && error.code === ErrorCode.MethodNotFound) return undefined;
    throw error;
  }
}
