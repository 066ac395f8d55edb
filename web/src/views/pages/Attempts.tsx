// The attempts of one prompt next to each other: what became of each, what it
// changed, file by file, and which one is kept.

import { useState } from "react";
import { go } from "../../app/address";
import { useApp } from "../../app/context";
import { firstLine } from "../../lib/text";
import type { SessionSummary, URI } from "../../protocol/types";
import { nameOf, pathOf } from "../../protocol/uri";
import { attemptOf, attemptsOf } from "../../state/attempts";
import { Icon } from "../ui/Icon";
import { Skeleton } from "../ui/Skeleton";
import { AttemptCard } from "./AttemptCard";
import { KeepDialog } from "./KeepDialog";
import "../../styles/attempts.css";

interface Asked {
  session: SessionSummary;
  changes: URI;
}

export function Attempts({ id }: { id: string }) {
  const sessions = useApp((state) => state.sessions);
  const isLoaded = useApp((state) => state.sessionsLoaded);
  const [path, setPath] = useState<string>();
  const [asked, setAsked] = useState<Asked>();
  const [kept, setKept] = useState<URI>();
  const attempts = attemptsOf(sessions, id);
  const [first] = attempts;
  if (!first && !isLoaded) return <Skeleton shape="page" />;
  if (!first) {
    return (
      <div className="page-note">
        <Icon name="question" />
        <h1>These attempts are not here</h1>
        <p>They were deleted, or they belong to another host.</p>
        <a className="button" href="#/start">
          New session
        </a>
      </div>
    );
  }
  const directory = attemptOf(first)?.directory;
  return (
    <div className="page attempts-page">
      <header className="attempts-head">
        <h1 dir="auto">{firstLine(first.title, 200) || "Attempts"}</h1>
        <p className="muted" title={directory && pathOf(directory)}>
          {attempts.length === 1 ? "One attempt" : `${attempts.length} attempts`}
          {directory && ` for ${nameOf(directory)}`}. Each works in a working tree of its own; choose a file to compare what they did to it.
        </p>
      </header>
      <div className="attempts">
        {attempts.map((session) => (
          <AttemptCard
            key={session.resource}
            session={session}
            path={path}
            isKept={session.resource === kept}
            onPath={(next) => setPath(next === path ? undefined : next)}
            onKeep={(changes) => setAsked({ session, changes })}
          />
        ))}
      </div>
      {asked && (
        <KeepDialog
          {...asked}
          directory={directory}
          others={attempts.filter(({ resource }) => resource !== asked.session.resource)}
          onClose={() => setAsked(undefined)}
          onKept={() => {
            setKept(asked.session.resource);
            setAsked(undefined);
          }}
          onOpen={() => go({ view: "session", session: asked.session.resource, chat: null, pane: "changes" })}
        />
      )}
    </div>
  );
}
