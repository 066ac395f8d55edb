// Commands and menus may ask for the line that looks for words in the
// conversation on screen; the conversation has that.

export const FIND = "innkeeper-find";

export function findHere(): void {
  dispatchEvent(new Event(FIND));
}
