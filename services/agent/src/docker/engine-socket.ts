import { Socket } from 'node:net';

/** The buffer size of a read. The engine sends up to 32 KiB at once; one read takes several such pieces, up to what a Unix socket holds. */
const READ_BYTES = 256 * 1024;

/**
 * A connection to the engine that becomes the connection of a process. Until `beginRaw` it is read like any socket. Afterwards it can be
 * iterated once. Each chunk contains everything that has arrived and is valid until the next one is requested, since all chunks share one
 * buffer. Node.js would allocate a buffer for each read, which creates as much garbage as the process sends.
 */
export class EngineSocket extends Socket {
  readonly #buffer: Buffer;
  #state: 'http' | 'raw' = 'http';
  #head: Uint8Array = Buffer.alloc(0);
  #filled = 0;

  constructor() {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    super({ onread: { buffer, callback: (size) => this.#take(size) } });
    this.#buffer = buffer;
  }

  /** `head` contains data that was read already. */
  beginRaw(head: Uint8Array): void {
    this.#state = 'raw';
    this.#head = head;
  }

  override async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    try {
      if (this.#head.length > 0) yield this.#head;
      const rest = this.read() as Uint8Array | null;
      if (rest !== null) yield rest;
      while (!this.readableEnded && !this.destroyed) {
        if (this.#filled === 0) await this.#filledOrEnded();
        const size = this.#filled;
        this.#filled = 0;
        if (size > 0) yield this.#buffer.subarray(0, size);
      }
      if (this.errored !== null) throw this.errored;
    } finally {
      this.destroy();
    }
  }

  /** Waits for one read, or for the end. */
  #filledOrEnded(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        for (const event of ['filled', 'end', 'close']) this.off(event, settle);
        resolve();
      };
      for (const event of ['filled', 'end', 'close']) this.on(event, settle);
      this.resume();
    });
  }

  /** Called by Node.js, which continues to read when the result is true. */
  #take(size: number): boolean {
    if (this.#state === 'http') {
      this.push(Buffer.from(this.#buffer.subarray(0, size)));
      return this.#state === 'http';
    }
    this.#filled = size;
    this.emit('filled');
    return false;
  }
}
