interface Props {
  text: string;
  onChange: (text: string) => void;
  onDeny: () => void;
}

/** What the agent should do instead: its words are sent with the denial. */
export function DenialReason({ text, onChange, onDeny }: Props) {
  return (
    <textarea
      autoFocus
      className="denial-reason"
      rows={Math.min(6, text.split("\n").length)}
      aria-label="What should the agent do instead?"
      placeholder="What should the agent do instead? Enter denies and sends this."
      value={text}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        onDeny();
      }}
    />
  );
}
