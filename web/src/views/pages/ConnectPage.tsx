import { useState } from "react";
import { keepToken, pageOf } from "../../app/address";
import { useApp } from "../../app/context";

/** Where the host is and how to be let in. */
export function ConnectPage() {
  const { phase, reason } = useApp((state) => state.connection);
  const [url, setUrl] = useState(() => location.origin);
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const connect = (event: React.FormEvent) => {
    event.preventDefault();
    const page = pageOf(url, token.trim());
    if (!page) return setProblem("That is not an address of a host.");
    // Another host serves a client of its own.
    if (page.host !== location.host) return location.assign(page);
    keepToken(page.searchParams.get("tkn") ?? "");
    location.hash = "#/";
    location.reload();
  };
  return (
    <div className="page">
      <form className="page-body form" onSubmit={connect}>
        <h1>Connect to a host</h1>
        {phase === "refused" && reason && (
          <p className="problem" role="alert">
            {reason}
          </p>
        )}
        <p className="muted">
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
          <button type="submit" className="button primary">
            Connect
          </button>
        </div>
      </form>
    </div>
  );
}
