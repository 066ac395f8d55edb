import { say } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { pathOf } from "../../protocol/uri";

const TITLES = {
  creating: (name: string) => `${name} is starting…`,
  ready: (name: string) => `${name} is ready`,
  failed: (name: string) => `${name} did not start`,
};

/** An empty chat says what it is ready for. */
export function Welcome({ chat }: { chat: string }) {
  const host = useHost();
  const session = useApp((state) => state.session);
  const agent = useApp((state) => state.root?.agents.find(({ provider }) => provider === state.session?.provider));
  const starting = useApp((state) => state.starting.get(state.currentSessionId ?? ""));
  const name = agent?.displayName ?? session?.provider ?? "The agent";
  const shellPrefix = useApp((state) => state.connection.shellPrefix);
  const isScript = session?.provider === "script";
  return (
    <div className="welcome">
      <div role="status">
        <h2>{starting ?? TITLES[session?.lifecycle ?? "creating"](name)}</h2>
      </div>
      {session?.lifecycle === "creating" && <p className="muted">You can write already. Your message runs as soon as it has started.</p>}
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
      {!isScript && session?.lifecycle === "ready" && (
        <ul className="welcome-hints">
          <li>
            <kbd>@</kbd> mentions a file
          </li>
          <li>
            <kbd>/</kbd> lists commands
          </li>
          {shellPrefix && (
            <li>
              <kbd>{shellPrefix}</kbd> runs a command yourself
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
