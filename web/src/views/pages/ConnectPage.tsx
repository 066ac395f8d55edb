import { useState } from "react";
import { keepToken, pageOf } from "../../app/address";
import { useApp } from "../../app/context";
import { Icon } from "../ui/Icon";

/** Where the host is and how to be let in. */
export function ConnectPage() {
  const { phase, reason } = useApp((state) => state.connection);
  const [url, setUrl] = useState(() => location.origin);
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const connect = (event: React.FormEvent) => {
    event.preventDefault();
    const page = pageOf(url, token.trim());
    if (!page) return setProblem("This is not the address of a host. It looks like http://127.0.0.1:8137.");
    // Another host serves a client of its own.
    if (page.host !== location.host) return location.assign(page);
    keepToken(page.searchParams.get("tkn") ?? "");
    location.hash = "#/";
    location.reload();
  };
  return (
    <div className="page">
      <form className="page-body form connect" onSubmit={connect}>
        <img src="./icon.svg" alt="" width="40" height="40" />
        <h1>Connect to a host</h1>
        {phase === "refused" && reason && (
          <p className="callout bad" role="alert">
            <Icon name="warning" /> <span>{reason}</span>
          </p>
        )}
        <p className="muted page-hint">
          The host prints its address when it starts. Its token stands behind <code>?tkn=</code> in that address, and in the file{" "}
          <code>token</code> of its data directory.
        </p>
        <label className="field">
          Address
          <input value={url} onChange={(event) => setUrl(event.target.value)} required spellCheck={false} />
        </label>
        <label className="field">
          Token
          <input type="password" autoComplete="off" value={token} onChange={(event) => setToken(event.target.value)} />
        </label>
        {problem && <p className="problem">{problem}</p>}
        <div className="button-row">
          <button type="submit" className="button primary wide">
            Connect
          </button>
        </div>
      </form>
    </div>
  );
}
