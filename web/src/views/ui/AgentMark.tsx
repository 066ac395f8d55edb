/** Which agent it is, at a glance: its first letter, in a colour of its own. */
export function AgentMark({ provider, name }: { provider: string; name?: string }) {
  const shown = name || provider;
  return (
    <span className={`agent-mark agent-${hueOf(provider)}`} title={shown} role="img" aria-label={shown} data-letter={shown.slice(0, 1).toUpperCase()} />
  );
}

const HUES = 8;

function hueOf(provider: string): number {
  let sum = 7;
  for (const letter of provider) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return sum % HUES;
}
