// Signing in: a token for something that an agent or a tool needs. It goes to
// the host, which keeps it in memory only, and is not kept here.

import { useId, useState } from "react";
import { authenticate } from "../../app/accounts";
import { useApp, useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import type { ProtectedResource } from "../../protocol/types";

interface Props {
  resource: ProtectedResource;
  /** The OAuth client to get the token with, if there is a certain one. */
  client?: string;
  onDone?: () => void;
}

export function SignIn({ resource, client, onDone }: Props) {
  const host = useHost();
  const id = useId();
  const [token, setToken] = useState("");
  const [state, setState] = useState<{ isBusy?: boolean; problem?: string; isDone?: boolean }>({});
  const name = resource.resource_name ?? resource.resource;
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      await authenticate(host, resource.resource, token.trim());
      setToken("");
      setState({ isDone: true });
      onDone?.();
    } catch (error) {
      setState({ problem: messageOf(error) });
    }
  };
  return (
    <form className="sign-in" onSubmit={(event) => void submit(event)}>
      <label htmlFor={id}>Token for {name}</label>
      <div className="with-button">
        <input id={id} type="password" autoComplete="off" required value={token} onChange={(event) => setToken(event.target.value)} />
        <button type="submit" className="button primary" disabled={state.isBusy || token.trim() === ""}>
          Sign in
        </button>
      </div>
      <Ways resource={resource} client={client} />
      {state.problem && (
        <p className="problem" role="alert">
          {state.problem}
        </p>
      )}
      {state.isDone && <p role="status">Signed in. The host keeps the token until it stops.</p>}
    </form>
  );
}

/** Where a token comes from, as far as the resource says so. */
function Ways({ resource: { authorization_servers: servers, resource_documentation: documentation, scopes_supported: scopes }, client }: Props) {
  const links = [...(servers ?? []), ...(documentation ? [documentation] : [])].filter((url) => /^https?:/.test(url));
  if (links.length === 0 && !scopes?.length && !client) return null;
  return (
    <small className="muted">
      {links.map((url) => (
        <a key={url} href={url} target="_blank" rel="noopener noreferrer">
          {url}
        </a>
      ))}
      {scopes?.length ? ` Scopes: ${scopes.join(", ")}` : ""}
      {client ? ` OAuth client: ${client}` : ""}
    </small>
  );
}

/** All that the host's agents need tokens for. */
export function Accounts() {
  const agents = useApp((state) => state.root?.agents) ?? [];
  const needs = agents.flatMap(({ displayName, protectedResources }) => (protectedResources ?? []).map((resource) => ({ displayName, resource })));
  if (needs.length === 0) return null;
  return (
    <>
      <h2 id="accounts">Accounts</h2>
      {needs.map(({ displayName, resource }) => (
        <section key={`${displayName}:${resource.resource}`} aria-label={displayName}>
          <p className="muted">{displayName}</p>
          <SignIn resource={resource} />
        </section>
      ))}
    </>
  );
}
