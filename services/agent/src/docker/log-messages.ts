import { joined, type OutputPart } from './demultiplex.ts';

/** The length of `2026-01-01T00:00:00.000000000Z `, which precedes each message of the engine. */
export const STAMP_BYTES = 31;
/** The engine divides a longer line into messages of this size, without their times. All have the time of the first. */
export const PIECE_BYTES = 16 * 1024;
const LINE_END = 0x0a;

/** Messages of a log with their times, several together. */
export type Messages = AsyncIterable<readonly OutputPart[]>;

/** The size of the end of a log that is not read again after its lines were counted. */
const MAX_KEPT_BYTES = 1024 * 1024;

/**
 * The messages of a terminal's log with times. It has no frames; a message ends with its line, or is a piece of a longer one. A message
 * that is cut off at the end of the log is yielded as far as it goes.
 */
export async function* terminalMessages(chunks: AsyncIterable<Uint8Array>): Messages {
  let rest: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    const bytes = joined(rest.length === 0 ? [chunk] : [rest, chunk]);
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const messages: OutputPart[] = [];
    let at = 0;
    for (let end = endOfMessage(view, at); end !== undefined; end = endOfMessage(view, at)) {
      messages.push({ kind: 'stdout', data: view.subarray(at, end) });
      at = end;
    }
    rest = view.subarray(at);
    if (messages.length > 0) yield messages;
  }
  if (rest.length > STAMP_BYTES) yield [{ kind: 'stdout', data: rest }];
}

function endOfMessage(bytes: Buffer, at: number): number | undefined {
  const from = at + STAMP_BYTES;
  const found = bytes.subarray(from, from + PIECE_BYTES).indexOf(LINE_END);
  if (found >= 0) return from + found + 1;
  return bytes.length < from + PIECE_BYTES ? undefined : from + PIECE_BYTES;
}

/**
 * The text of messages. `kept`: each line begins with its time. Like in the kubelet (pkg/kubelet/kuberuntime/logs), a message has its time
 * only if the one before it ended a line, so that a line which the engine has divided has one time.
 */
export async function* textOf(messages: Messages, times: 'kept' | 'removed'): AsyncIterable<Uint8Array> {
  let isNewLine = true;
  for await (const together of messages) {
    const parts = together.map(({ data }) => {
      const part = times === 'kept' && isNewLine ? data : data.subarray(STAMP_BYTES);
      isNewLine = endsLine(data);
      return part;
    });
    if (parts.length > 0) yield joined(parts);
  }
}

function endsLine(message: Uint8Array): boolean {
  return message.length <= STAMP_BYTES || message.at(-1) === LINE_END;
}

/** The messages after so many ends of lines. */
export async function* afterLines(messages: Messages | Iterable<readonly OutputPart[]>, ends: number): Messages {
  let left = ends;
  for await (const together of messages) {
    let from = 0;
    for (; left > 0 && from < together.length; from++) if (endsLine(together[from]?.data ?? new Uint8Array(0))) left--;
    if (from < together.length) yield together.slice(from);
  }
}

/** How to read the last lines of a log: that many messages from its end, without what comes before so many ends of lines. */
export interface Tail {
  readonly messages: number;
  readonly skippedEnds: number;
  /** The messages, unless they are too large. */
  readonly kept: readonly (readonly OutputPart[])[] | undefined;
}

/**
 * Where the last `lines` lines of a log begin. The engine counts messages, and a long line has several. `read` returns that many messages
 * from the end of the log.
 */
export async function findTail(lines: number, read: (messages: number) => Messages): Promise<Tail> {
  // One more, which shows that the first line is whole.
  for (let messages = lines + 1; ; messages *= 2) {
    let count = 0;
    let ends = 0;
    let isOpen = false;
    let kept: (readonly OutputPart[])[] | undefined = [];
    let keptBytes = 0;
    for await (const together of read(messages)) {
      count += together.length;
      keptBytes += together.reduce((sum, { data }) => sum + data.length, 0);
      if (keptBytes > MAX_KEPT_BYTES) kept = undefined;
      kept?.push(together);
      for (const { data } of together) {
        isOpen = !endsLine(data);
        if (!isOpen) ends++;
      }
    }
    const found = isOpen ? ends + 1 : ends;
    if (found > lines || count < messages) {
      return { messages, skippedEnds: Math.max(0, found - lines), kept };
    }
  }
}
