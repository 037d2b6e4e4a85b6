/** How the end of a block scalar is treated: `-` strips its last break, `+` keeps all of them. */
export type Chomping = '-' | '+' | '';

/** Puts the lines of a block scalar together. */
export class BlockLines {
  /** Empty lines before the next one. */
  breaks = 0;
  /** Whether the last line ends with a break. */
  ended = false;
  readonly #isLiteral: boolean;
  readonly #pieces: string[] = [];
  #wasBlank = false;

  constructor(isLiteral: boolean) {
    this.#isLiteral = isLiteral;
  }

  add(line: string): void {
    const isBlank = line.startsWith(' ') || line.startsWith('\t');
    if (this.ended && !this.#isLiteral && !this.#wasBlank && !isBlank) {
      if (this.breaks === 0) this.#pieces.push(' ');
    } else if (this.ended) this.#pieces.push('\n');
    if (this.breaks > 0) this.#pieces.push('\n'.repeat(this.breaks));
    this.#pieces.push(line);
    this.#wasBlank = isBlank;
    this.ended = false;
    this.breaks = 0;
  }

  text(chomping: Chomping): string {
    if (chomping !== '-' && this.ended) this.#pieces.push('\n');
    if (chomping === '+') this.#pieces.push('\n'.repeat(this.breaks));
    return this.#pieces.join('');
  }
}
