import { youngCollections } from '@gantry/base';

/** Agents take at most 1 MiB at once. */
const MAX_INPUT_BYTES = 256 * 1024;

/** Sends to an agent; each resolves when the next may be sent. */
export interface InputSender {
  data(value: Uint8Array): Promise<void>;
  /** The client sends no more. */
  end(): Promise<void>;
}

/**
 * Copies what a client writes, in parts that agents take, however much the client wrote at once. Never rejects: when the client has
 * gone, its streams say so, and the call is cancelled.
 */
export async function copyInput(client: AsyncIterable<Buffer>, { data, end }: InputSender): Promise<void> {
  try {
    for await (const chunk of client) {
      for (let at = 0; at < chunk.length; at += MAX_INPUT_BYTES) await data(chunk.subarray(at, at + MAX_INPUT_BYTES));
      // The messages of the client are garbage now.
      youngCollections.passed(chunk.length);
    }
    await end();
  } catch {
    // The client has reset the connection or has gone, or the call has ended.
  }
}
