// Write-ahead reconciliation of one channel: what the host has confirmed, what
// this client has said since, and the view that results from both.
//
// Invariant: `view` is always `pending` folded over `confirmed`. The host's
// word is the only thing that changes `confirmed`.

import type { OwnAction } from "../protocol/events";
import type { ActionEnvelope, ChatState, Snapshot, StateAction, URI } from "../protocol/types";
import { channelOf, reduce } from "./reducers";
import type { ChannelState } from "./reducers";
import { bounded } from "./scrollback";
import { saidIn, waitsIn } from "./steering";

/** An own action among those of its channel. */
export type PendingAction = Omit<OwnAction, "channel">;

export interface Channel {
  uri: URI;
  confirmed: ChannelState;
  /** Actions up to this number are part of `confirmed`. */
  seq: number;
  pending: readonly PendingAction[];
  view: ChannelState;
}

export function openChannel(snapshot: Snapshot, pending: readonly PendingAction[] = []): Channel | undefined {
  const confirmed = channelOf(snapshot.resource, snapshot.state);
  if (!confirmed) return undefined;
  const open = pending.filter(({ action }) => !isContainedIn(confirmed, action));
  return withView({ uri: snapshot.resource, confirmed, seq: snapshot.fromSeq, pending: open, view: confirmed });
}

export function withOwnAction(channel: Channel, own: PendingAction): Channel {
  const pending = [...channel.pending, own];
  return { ...channel, pending, view: foresee(channel.view, own.action) };
}

/**
 * What the host sent: an echo, somebody else's action, or a rejection. Echoes
 * come in the order in which the host was told: one of them settles all own
 * actions before it, also those to which the host said nothing. A rejection may
 * overtake echoes.
 */
export function receive(channel: Channel, envelope: ActionEnvelope, clientId: string): Channel {
  const { origin, serverSeq, action, rejectionReason } = envelope;
  const own = origin?.clientId === clientId ? origin.clientSeq : undefined;
  const isSettled = ({ clientSeq }: PendingAction) =>
    own !== undefined && (rejectionReason === undefined ? clientSeq <= own : clientSeq === own);
  const pending = own === undefined ? channel.pending : channel.pending.filter((waiting) => !isSettled(waiting));
  const isNews = rejectionReason === undefined && serverSeq > channel.seq;
  if (!isNews && pending === channel.pending) return channel;
  const confirmed = isNews ? bounded(reduce(channel.confirmed, action)) : channel.confirmed;
  return withView({ ...channel, confirmed, seq: Math.max(channel.seq, isNews ? serverSeq : 0), pending });
}

function withView(channel: Channel): Channel {
  let view = channel.confirmed;
  for (const { action } of channel.pending) view = foresee(view, action);
  return { ...channel, view };
}

/**
 * Applies an action that the host has not judged yet. What it would certainly
 * reject is not shown: a new turn would wipe the one that is running.
 */
function foresee(view: ChannelState, action: StateAction): ChannelState {
  if (view.kind === "chat" && action.type === "chat/turnStarted") {
    if (view.state.activeTurn || holdsTurn(view.state, action.turnId)) return view;
  }
  return reduce(view, action);
}

/**
 * Whether a fresh snapshot already holds the effect of an action whose echo
 * was lost. Sending such an action again would do the thing twice.
 */
function isContainedIn(channel: ChannelState, action: StateAction): boolean {
  if (channel.kind !== "chat") return false;
  switch (action.type) {
    case "chat/turnStarted":
      return holdsTurn(channel.state, action.turnId);
    case "chat/pendingMessageSet":
      return waitsIn(channel.state, action.id) || saidIn(channel.state, action.id);
    case "chat/turnCancelled":
      return channel.state.activeTurn?.id !== action.turnId;
    default:
      return false;
  }
}

export function holdsTurn({ turns, activeTurn }: ChatState, turnId: string): boolean {
  return activeTurn?.id === turnId || turns.some(({ id }) => id === turnId);
}
