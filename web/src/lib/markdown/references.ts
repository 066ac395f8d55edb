// Character references (`&eacute;`, `&#8211;`) as the characters that they name.

import { decodeNamedCharacterReference } from "decode-named-character-reference";

/** A name is letters and digits and nothing else: the browser, which knows them all, is asked for it as HTML. */
const REFERENCE = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z][a-z\d]*));/gi;

export function decode(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(REFERENCE, (whole, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return decodeNamedCharacterReference(name) || whole;
    return character(hex === undefined ? Number(decimal) : parseInt(hex, 16));
  });
}

/** What is not a character is shown as the sign for that. */
function character(code: number): string {
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : "\ufffd";
}
