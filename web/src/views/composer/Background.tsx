// What goes on without its turn: commands that somebody took over, and agents
// that work on. It stands above the editor until it ends or is stopped.

import { hrefOf } from "../../app/address";
import { stop as stopTurn } from "../../app/chat";
import { useApp, useChannel, useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import type { BackgroundWork, URI } from "../../protocol/types";
import { Icon } from "../ui/Icon";

export function Background({ chat }: { chat: URI }) {
  const work = useApp((state) => state.chat?.backgroundWork);
  if (!work?.length) return null;
  return (
    <section className="scheduled" aria-label="Running in the background">
      <header>Running in the background</header>
      <ul>
        {work.map((one) => (
          <Row key={one.id} chat={chat} work={one} />
        ))}
      </ul>
    </section>
  );
}

function Row({ chat, work }: { chat: URI; work: BackgroundWork }) {
  const host = useHost();
  const session = useApp((state) => state.currentSessionId);
  const terminal = work.kind === "shell" ? work.terminal : undefined;
  const running = useChannel(work.kind === "subagent" ? work.chat : undefined, "chat")?.activeTurn?.id;
  const stop = async () => {
    if (work.kind === "subagent") return running && stopTurn(host, work.chat, running);
    try {
      await host.connection.request("disposeTerminal", { channel: terminal });
    } catch (error) {
      host.store.notify({ tone: "error", text: `The command was not stopped: ${messageOf(error)}` });
    }
  };
  const place = work.kind === "subagent" ? { chat: work.chat } : { chat, pane: "terminals" as const };
  return (
    <li>
      <Icon name={work.kind === "shell" ? "terminal" : "tool"} />
      <span className="scheduled-text">{work.label}</span>
      {session && (work.kind === "subagent" || terminal) && (
        <a className="link-button" href={hrefOf({ view: "session", session, ...place })}>
          Show
        </a>
      )}
      {(terminal || running) && (
        <button type="button" className="link-button" onClick={() => void stop()}>
          Stop
        </button>
      )}
    </li>
  );
}
