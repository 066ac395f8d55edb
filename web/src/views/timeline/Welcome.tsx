import { say } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { pathOf } from "../../protocol/uri";

/** An empty chat says what it is ready for. */
export function Welcome({ chat }: { chat: string }) {
  const host = useHost();
  const session = useApp((state) => state.session);
  const agent = useApp((state) => state.root?.agents.find(({ provider }) => provider === state.session?.provider));
  const isScript = session?.provider === "script";
  return (
    <div className="welcome">
      <h2>{agent?.displayName ?? session?.provider} is ready</h2>
      <p className="muted">{session?.workingDirectories?.map(pathOf).join(", ") || agent?.description}</p>
      {isScript && (
        <div className="suggestions" aria-label="Try a scenario">
          {["tour", "tools", "confirm", "ask", "edit", "terminal", "subagent"].map((name) => (
            <button key={name} type="button" className="button" onClick={() => say(host, chat, { text: name }, "send")}>
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
