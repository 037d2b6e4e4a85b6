/** A problem at an offset of an expression's text; offset -1 means the whole expression. */
export interface Issue {
  readonly offset: number;
  readonly message: string;
}

const MAX_ISSUES = 100;
const MAX_SNIPPET_BYTES = 16_384;

/** An expression's text. Converts offsets (UTF-16 units) to lines and columns. */
export class Source {
  readonly text: string;
  readonly #lines: readonly string[];

  constructor(text: string) {
    this.text = text;
    this.#lines = text.split('\n');
  }

  /** Formats issues in text order as cel-go does: message, source line, and a mark under the column. */
  format(issues: readonly Issue[]): string {
    const located = issues
      .slice(0, MAX_ISSUES)
      .map((issue) => ({ message: issue.message, ...this.#locate(issue.offset) }));
    located.sort((a, b) => a.line - b.line || a.column - b.column);
    const texts = located.map(({ line, column, message }) => this.#formatOne(line, column, message));
    if (issues.length > MAX_ISSUES) texts.push(`${issues.length - MAX_ISSUES} more errors were truncated`);
    return texts.join('\n');
  }

  #locate(offset: number): { readonly line: number; readonly column: number } {
    if (offset < 0) return { line: -1, column: -1 };
    // For an empty text, cel-go counts the column from before it and prints no line.
    if (this.text === '') return { line: 1, column: -1 };
    let start = 0;
    for (const [index, line] of this.#lines.entries()) {
      if (offset <= start + line.length) return { line: index + 1, column: [...line.slice(0, offset - start)].length };
      start += line.length + 1;
    }
    return { line: this.#lines.length, column: 0 };
  }

  #formatOne(line: number, column: number, message: string): string {
    const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
    const snippet = line < 1 || this.text === '' ? undefined : this.#lines[line - 1];
    if (snippet === undefined || Buffer.byteLength(snippet) > MAX_SNIPPET_BYTES) return head;
    const shown = snippet.replaceAll('\t', ' ');
    const chars = [...shown];
    const isWide = (char: string | undefined) => char !== undefined && (char.codePointAt(0) ?? 0) > 0x7f;
    const dots = chars.slice(0, column).map((char) => (isWide(char) ? '．' : '.'));
    return `${head}\n | ${shown}\n | ${dots.join('')}${isWide(chars[column]) ? '＾' : '^'}`;
  }
}
