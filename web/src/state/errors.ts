// Errors as people read them: a title in words, what went wrong said once, and
// the rest for those who want to know more.

export interface ReadableError {
  title: string;
  /** What is said under the title; nothing, if that is said already. */
  message: string;
  /** Everything that was reported, where the message is less than that. */
  details?: string;
}

const TITLES = new Map<string, string>(Object.entries({
  agentError: "The agent reported an error",
  agentExited: "The agent stopped unexpectedly",
  agentNotStarted: "The agent did not start",
  agentProtocol: "The host did not understand the agent",
  agentSignInRequired: "The agent needs you to sign in",
  agentSilent: "The agent did not answer",
  hostInterrupted: "The host stopped while this turn was running",
  idTooLong: "The agent sent something the host cannot keep",
  invalidScenario: "This scenario cannot be played",
  turnTooLarge: "This turn became too large",
  unknownProvider: "The host does not know this agent",
}));

/** What some errors say only repeats their title, or promises what may not be possible. */
const SAID_BY_TITLE = new Map<string, RegExp>(Object.entries({
  agentExited: /^(?:[^.:]*\bended unexpectedly\b[.:]?\s*)+/i,
  hostInterrupted: /^The host (?:stopped|ended) while this turn was running\. |; resume the turn to (?:continue|go on)/g,
}));

/** `said` is what the agent had said just before: some report an error and say it, too. */
export function readError(errorType: string | undefined, text: string, said = ""): ReadableError {
  const title = TITLES.get(errorType ?? "") ?? inWords(errorType);
  const whole = text.trim();
  // Stack traces come in lines, or joined by slashes.
  const [first = "", ...rest] = whole.split(/\n| \/ (?=at |\w+:|\^|node:)/);
  const repeated = SAID_BY_TITLE.get(errorType ?? "");
  const short = first
    .replace(/^(?:Internal error|Error): (?=\S)/, "")
    .replace(repeated ?? /^$/, "")
    .trim();
  const isSaid = short !== "" && (title.toLowerCase().includes(short.toLowerCase()) || said.includes(short));
  const message = isSaid ? "" : capital(short);
  const hasMore = rest.length > 0 || isSaid;
  return { title, message, ...(hasMore && whole !== message ? { details: whole } : {}) };
}

/** An identifier that nobody here knows, in words: `rateLimited` is "Rate limited". */
function inWords(errorType: string | undefined): string {
  const words = (errorType ?? "")
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_.-]+/g, " ")
    .trim()
    .toLowerCase();
  return capital(words) || "Something went wrong";
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
