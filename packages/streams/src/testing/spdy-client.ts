import type { Duplex } from 'node:stream';
import { CONTROL, controlFrame, dataHeader, FIN, FrameReader, numberAt, numbers } from '../spdy/frames.ts';
import { type Headers, HeaderReader, HeaderWriter } from '../spdy/header-blocks.ts';

/** What a client has received on one stream. */
interface Received {
  readonly data: Buffer[];
  /** `reset` is the status of the server's reset. */
  state: 'opening' | 'open' | 'ended' | { readonly reset: number };
}

/** The client's side of SPDY/3.1 for tests. It can also violate the protocol. */
export class SpdyClient {
  readonly transport: Duplex;
  /** Control frames other than replies and resets. */
  readonly control: { readonly type: number; readonly payload: Buffer }[] = [];
  readonly #streams = new Map<number, Received>();
  readonly #frames = new FrameReader(1 << 20);
  readonly #writer = new HeaderWriter();
  readonly #reader = new HeaderReader(1 << 20);
  readonly #waiting = new Set<() => void>();
  #ended: 'no' | 'yes' = 'no';
  #next = 1;

  constructor(transport: Duplex) {
    this.transport = transport;
    transport.on('error', () => undefined);
    void this.#read();
  }

  /** Opens a stream and returns its number. */
  async open(headers: Readonly<Record<string, string>>, flags = 0): Promise<number> {
    const id = this.#next;
    this.#next += 2;
    await this.openAs(id, new Map(Object.entries(headers)), flags);
    return id;
  }

  async openAs(id: number, headers: Headers, flags = 0): Promise<void> {
    this.#streams.set(id, { data: [], state: 'opening' });
    const block = await this.#writer.write(headers);
    this.transport.write(
      controlFrame(CONTROL.synStream, flags, Buffer.concat([numbers(id, 0), Buffer.alloc(2), block])),
    );
  }

  send(id: number, data: string | Buffer, fin: 'fin' | 'more' = 'more'): void {
    const bytes = Buffer.from(data);
    this.transport.write(Buffer.concat([dataHeader(id, fin === 'fin' ? FIN : 0, bytes.length), bytes]));
  }

  reset(id: number): void {
    this.transport.write(controlFrame(CONTROL.rstStream, 0, numbers(id, 5)));
  }

  stream(id: number): Received {
    return this.#streams.get(id) ?? { data: [], state: 'opening' };
  }

  text(id: number): string {
    return Buffer.concat(this.stream(id).data).toString();
  }

  /** Resolves when `holds` returns true. Rejects if the connection ends first. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#ended === 'yes') throw new Error('the connection has ended');
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Resolves when the server has ended the connection. */
  async ended(): Promise<void> {
    while (this.#ended === 'no') await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  async #read(): Promise<void> {
    try {
      for await (const bytes of this.transport as AsyncIterable<Buffer>) {
        for (const frame of this.#frames.read(bytes)) {
          if (frame.kind === 'control') await this.#control(frame.type, frame.payload);
          else {
            const stream = this.stream(frame.stream);
            stream.data.push(Buffer.from(frame.data));
            if ((frame.flags & FIN) !== 0) stream.state = 'ended';
          }
        }
        this.#wake();
      }
    } catch {
      // The server has ended the connection. The test checks whether it should.
    }
    this.#ended = 'yes';
    this.#wake();
  }

  async #control(type: number, payload: Buffer): Promise<void> {
    if (type === CONTROL.synReply) {
      await this.#reader.read(payload.subarray(4));
      this.stream(numberAt(payload, 0)).state = 'open';
    } else if (type === CONTROL.rstStream) {
      this.stream(numberAt(payload, 0)).state = { reset: numberAt(payload, 4) };
    } else this.control.push({ type, payload });
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
