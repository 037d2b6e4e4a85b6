import type { Http2Stream } from 'node:http2';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { createFramer, MessageReader } from '@gantry/proto';
import { StreamEndedError } from './call-failures.ts';

/** What may wait for its reader before the peer is held back. */
const AHEAD_BYTES = 256 * 1024;

interface MessageStreamOptions {
  readonly reads: DescMessage;
  readonly writes: DescMessage;
  /** Of a message that is read. */
  readonly maxBytes: number;
  /** Called with the size of each piece that has come. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * gRPC's messages on a stream of HTTP/2, with the receiver's back-pressure in both directions. Bytes go through few buffers, where
 * grpc-js makes three for each message and holds 16 messages in each direction, whatever their size.
 */
export class MessageStream<In extends Message, Out extends Message> {
  readonly #stream: Http2Stream;
  readonly #reader: MessageReader<In>;
  readonly #frame: (message: Message) => readonly Uint8Array[];
  #state: 'open' | 'ended' | 'failed' = 'open';
  #failure: Error | undefined;
  /** Why nothing can be written any more. */
  #closed: Error | undefined;
  readonly #writers = new Set<(error: Error) => void>();
  /** Wakes the reader, which takes what has come before it waits. */
  #changed = (): void => undefined;
  /** Whether it will be woken. */
  #wake: 'idle' | 'set' = 'idle';

  constructor(stream: Http2Stream, { reads, writes, maxBytes, onBytes }: MessageStreamOptions) {
    this.#stream = stream;
    this.#reader = new MessageReader(reads, maxBytes);
    this.#frame = createFramer(writes);
    stream.on('data', (piece: Buffer) => {
      if (this.#state !== 'open') return;
      onBytes?.(piece.length);
      this.#add(piece);
    });
    stream.on('end', () => this.#end());
    stream.on('error', (error) => this.#close(error));
    stream.on('close', () => this.#close(new StreamEndedError('the stream was closed')));
  }

  /**
   * The next message; undefined at the end. Its bytes are valid until the next is asked for. Rejects with MessageError, or when the stream
   * has ended before its end. One call at a time.
   */
  async next(): Promise<In | undefined> {
    for (;;) {
      const message = this.#reader.take();
      if (this.#state === 'open' && this.#stream.isPaused() && this.#reader.waitingBytes < AHEAD_BYTES) {
        this.#stream.resume();
      }
      if (message !== undefined) return message;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#state === 'ended') return undefined;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** Resolves when the message has gone out, whose bytes are no longer needed then. Rejects when the stream has ended. */
  write(message: Out): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined || this.#stream.destroyed || this.#stream.writableEnded) {
        reject(this.#closed ?? new StreamEndedError('the stream was closed'));
        return;
      }
      this.#writers.add(reject);
      const parts = this.#frame(message);
      this.#stream.cork();
      for (const part of parts.slice(0, -1)) this.#stream.write(part);
      this.#stream.write(parts.at(-1), (error) => {
        this.#writers.delete(reject);
        if (error) reject(error);
        else resolve();
      });
      this.#stream.uncork();
    });
  }

  /** Nothing is read or written any more: what still comes is dropped. */
  discard(): void {
    this.#close(new StreamEndedError('the call has ended'));
    this.#stream.resume();
  }

  /** Writers learn it from here: of a write that the peer does not take, Node.js says nothing even when the stream is closed. */
  #close(error: Error): void {
    this.#closed ??= error;
    for (const refuse of this.#writers) refuse(error);
    this.#writers.clear();
    this.#fail(error);
  }

  #add(piece: Buffer): void {
    try {
      this.#reader.add(piece);
    } catch (error) {
      this.#fail(error as Error);
    }
    if (this.#reader.waitingBytes >= AHEAD_BYTES) this.#stream.pause();
    if (this.#wake === 'set') return;
    // After the other pieces of the same read from the socket, of which TLS makes one for each 16 KiB.
    this.#wake = 'set';
    setImmediate(() => {
      this.#wake = 'idle';
      this.#changed();
    });
  }

  #end(): void {
    if (this.#reader.isWithinMessage) this.#fail(new StreamEndedError('the stream has ended within a message'));
    else if (this.#state === 'open') this.#state = 'ended';
    this.#changed();
  }

  #fail(error: Error): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#failure = error;
    this.#changed();
  }
}
