const GENERATION = /^# new generation \d+ by process \d+ \((.*)\)$/;

/** Finds changes of one table that another program made, in what `nft monitor` prints. */
export class ChangeWatch {
  readonly #mark: string;
  readonly #own: string;
  readonly #onForeignChange: () => void;
  /** Whether a change of the table was printed since the last generation. Its author comes after it. */
  #isTouched = false;

  constructor(table: string, own: string, onForeignChange: () => void) {
    this.#mark = ` ip ${table}`;
    this.#own = own;
    this.#onForeignChange = onForeignChange;
  }

  take(line: string): void {
    const author = GENERATION.exec(line)?.[1];
    if (author === undefined) {
      this.#isTouched ||= this.#names(line);
      return;
    }
    if (this.#isTouched && author !== this.#own) this.#onForeignChange();
    this.#isTouched = false;
  }

  /** `add rule ip TABLE ...`, `delete table ip TABLE`. Sets with dynamic elements change by packets, without a new generation. */
  #names(line: string): boolean {
    const at = line.indexOf(this.#mark);
    if (at < 0 || at > 'delete element'.length) return false;
    const next = line[at + this.#mark.length];
    return next === undefined || next === ' ';
  }
}
