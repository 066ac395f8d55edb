// What an MCP server offers, as it says itself on its channel.

import { useEffect, useState } from "react";
import { useHost } from "../../app/context";
import { offeredBy } from "../../app/servers";
import { messageOf } from "../../app/sessions";
import { count, firstLine } from "../../lib/text";
import type { URI } from "../../protocol/types";
import { OFFERS, saidBy } from "../../state/serverOffer";
import type { Offered, OfferKind } from "../../state/serverOffer";

interface Props {
  name: string;
  channel: URI;
}

/** It is asked when somebody wants to know. */
export function ServerOffer({ name, channel }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="server-offer" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What {name} offers</summary>
      {isOpen && <Answers key={channel} channel={channel} />}
    </details>
  );
}

const WORDS: Record<OfferKind, string> = { tools: "tool", prompts: "prompt", resources: "resource" };

/** More of a kind are counted only. */
const MOST = 200;

function Answers({ channel }: { channel: URI }) {
  const host = useHost();
  const [offers, setOffers] = useState<Partial<Record<OfferKind, Offered[]>>>({});
  const [asked, setAsked] = useState(0);
  const [words, setWords] = useState<string>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    const ask = (kind: OfferKind) =>
      offeredBy(host, channel, kind).then(
        (items) => {
          if (!isCurrent) return;
          setOffers((known) => ({ ...known, [kind]: items }));
          setAsked((number) => number + 1);
        },
        (error: unknown) => isCurrent && setProblem(messageOf(error)),
      );
    for (const kind of OFFERS) void ask(kind);
    const leave = host.listening.to(channel, {
      hear: (_, params) => {
        const said = saidBy(params);
        if (said && "changed" in said) void ask(said.changed);
        if (said && "words" in said) setWords(firstLine(said.words));
      },
      gone: () => setProblem("The server has stopped."),
    });
    return () => {
      isCurrent = false;
      leave();
    };
  }, [host, channel]);
  const known = OFFERS.filter((kind) => offers[kind] !== undefined);
  return (
    <>
      {problem && <p className="problem">{problem}</p>}
      {!problem && asked >= OFFERS.length && known.length === 0 && <p className="muted">The server offers nothing that can be listed.</p>}
      {known.map((kind) => (
        <section key={kind} aria-label={WORDS[kind]}>
          <p className="muted">{count(offers[kind]?.length ?? 0, WORDS[kind])}</p>
          <ul>
            {offers[kind]?.slice(0, MOST).map(({ name, description }, index) => (
              <li key={index}>
                {name}
                {description && <small className="muted"> {firstLine(description)}</small>}
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p className="muted" role="status">
        {words && `Latest log message: ${words}`}
      </p>
    </>
  );
}
