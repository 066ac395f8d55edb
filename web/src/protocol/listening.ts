// Channels that have no state in this client: what is said on them goes to
// whoever listens, over every connection anew.

import { ConnectionLost } from "./rpc";
import type { URI } from "./types";

/** What the listeners need of the connection. */
interface Line {
  request(method: string, params: object): Promise<unknown>;
  notify(method: string, params: object): void;
}

export interface Ear {
  hear: (method: string, params: Record<string, unknown>) => void;
  /** There is no such channel, or not any more. */
  gone?: () => void;
}

export class Listening {
  private readonly ears = new Map<URI, Set<Ear>>();

  constructor(private readonly line: Line) {}

  /** Listens to a channel until the returned function is called. */
  to(channel: URI, ear: Ear): () => void {
    const known = this.ears.get(channel);
    if (known) known.add(ear);
    else {
      this.ears.set(channel, new Set([ear]));
      this.subscribe(channel);
    }
    return () => this.leave(channel, ear);
  }

  /** There is a new connection: it knows nothing of what was listened to. */
  again(): void {
    for (const channel of this.ears.keys()) this.subscribe(channel);
  }

  heard(method: string, params: unknown): void {
    const said = params as Record<string, unknown> | null;
    const ears = typeof said?.channel === "string" ? this.ears.get(said.channel) : undefined;
    for (const ear of ears ?? []) ear.hear(method, said ?? {});
  }

  private subscribe(channel: URI): void {
    this.line.request("subscribe", { channel }).catch((error: unknown) => {
      if (error instanceof ConnectionLost) return;
      const ears = this.ears.get(channel);
      this.ears.delete(channel);
      for (const ear of ears ?? []) ear.gone?.();
    });
  }

  private leave(channel: URI, ear: Ear): void {
    const ears = this.ears.get(channel);
    if (!ears?.delete(ear) || ears.size > 0) return;
    this.ears.delete(channel);
    this.line.notify("unsubscribe", { channel });
  }
}
