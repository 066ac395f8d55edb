/** A sentence of the host: what stands between backticks is code. */
export function Ticked({ text }: { text: string }) {
  return text.split(/`([^`\n]+)`/).map((piece, index) => (index % 2 ? <code key={index}>{piece}</code> : piece));
}
