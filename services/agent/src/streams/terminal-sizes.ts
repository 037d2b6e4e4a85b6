import type { TerminalSize } from '../runtime/streams.ts';

/** A client has sent something that is not a terminal size. */
export class TerminalSizeError extends Error {
  override readonly name = 'TerminalSizeError';
}

const MAX_TEXT = 1024;
const MAX_LENGTH = 65_535;

/** Parses sizes from clients: a sequence of JSON objects, split anywhere. */
export class TerminalSizes {
  #text = '';

  /**
   * Yields the sizes that these bytes complete. Take all of them before the next call. Each size is parsed only when it is taken, because
   * a client may send millions at once. Throws TerminalSizeError.
   */
  *read(bytes: Uint8Array): Generator<TerminalSize> {
    this.#text += Buffer.from(bytes).toString('latin1');
    for (;;) {
      const end = this.#text.indexOf('}');
      if (end < 0) break;
      const text = this.#text.slice(0, end + 1);
      this.#text = this.#text.slice(end + 1);
      yield parse(text);
    }
    if (this.#text.length > MAX_TEXT) throw new TerminalSizeError('the size of a terminal is too long');
  }
}

function parse(text: string): TerminalSize {
  try {
    const { Width, Height } = JSON.parse(text) as { readonly Width?: unknown; readonly Height?: unknown };
    return { width: lengthOf(Width), height: lengthOf(Height) };
  } catch {
    throw new TerminalSizeError(`${text} is not the size of a terminal`);
  }
}

function lengthOf(value: unknown): number {
  const length = value ?? 0;
  if (typeof length !== 'number' || !Number.isInteger(length) || length < 0 || length > MAX_LENGTH) {
    throw new TerminalSizeError('the length is out of range');
  }
  return length;
}
