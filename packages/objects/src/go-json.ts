/** Characters that Go's encoder escapes and JavaScript's does not. JSON contains them only in strings. */
const ESCAPED = /[<>&\u2028\u2029]/;
const EACH_ESCAPED = new RegExp(ESCAPED, 'g');

/**
 * The JSON text of a value as Go's `encoding/json` writes it: `<`, `>`, `&` and the line separators U+2028 and U+2029 of names and
 * strings are `\u` escapes. Clients compare bytes with such a text: kubectl finds the current revision of a DaemonSet that way.
 * `indent` is the number of spaces of a level; without it the text has one line.
 */
export function goJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return ESCAPED.test(text) ? text.replace(EACH_ESCAPED, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
