import { type Pod, StatusError } from '@gantry/objects';
import type { Api } from '../api/http.ts';

/** The channels of `v5.channel.k8s.io`: the first byte of each message. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export const PROTOCOL = 'v5.channel.k8s.io';

/** A message for a channel. */
export function messageFor(channel: number, content: Uint8Array<ArrayBuffer> | string): Uint8Array<ArrayBuffer> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const message = new Uint8Array(bytes.length + 1);
  message[0] = channel;
  message.set(bytes, 1);
  return message;
}

/** Messages that are kept until the connection is there. */
const MAX_UNSENT = 1000;

/** Sends messages over a socket. What is sent before it is open waits until `flush`. */
export function senderTo(socket: Pick<WebSocket, 'readyState' | 'send'>) {
  const waiting: Uint8Array<ArrayBuffer>[] = [];
  return {
    send: (channel: number, content: string | Uint8Array<ArrayBuffer>) => {
      const message = messageFor(channel, content);
      if (socket.readyState === WebSocket.OPEN) socket.send(message);
      else if (socket.readyState === WebSocket.CONNECTING && waiting.length < MAX_UNSENT) waiting.push(message);
    },
    flush: () => {
      for (const message of waiting.splice(0)) socket.send(message);
    },
  };
}

/** How a command ended, by the Status of the error channel, in words. */
export function endOf(status: string): string {
  try {
    const {
      status: outcome,
      reason,
      message,
      details,
    } = JSON.parse(status) as {
      status?: string;
      reason?: string;
      message?: string;
      details?: { causes?: readonly { reason?: string; message?: string }[] };
    };
    if (outcome === 'Success') return 'the command has ended';
    const code = details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
    return reason === 'NonZeroExitCode' && code !== undefined
      ? `the command has ended with ${code}`
      : (message ?? status);
  } catch {
    return status;
  }
}

/** The words of a command line: quotes keep blanks, a backslash keeps the next character. Nothing else is interpreted. */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  for (const [, double, single, plain] of line.matchAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|((?:\\.|[^\s"'\\])+)/g))
    words.push(single ?? (double ?? plain ?? '').replaceAll(/\\(.)/g, '$1'));
  return words;
}

/** What the API server says of a request for a stream that it would accept, if it asked for a stream. */
const ACCEPTED = 'Upgrade request required';

/**
 * Why the WebSocket of a path was closed with `code` before it opened, in the server's words. A browser does not say; so the same is asked
 * without a WebSocket, which runs nothing.
 */
export async function refusalOf(api: Pick<Api, 'fetch'>, path: string, code: number): Promise<string> {
  try {
    await api.fetch(path);
  } catch (error) {
    if (error instanceof StatusError && error.message !== ACCEPTED) return error.message;
  }
  return `the connection was not opened (${code}): the node or its container runtime may be away`;
}

/** A terminal, as far as output is concerned. */
interface Screen {
  write(content: Uint8Array | string, done?: () => void): void;
}

/** Output that waits for the terminal, in bytes: about a second's work. */
const MAX_WAITING = 4 * 1024 * 1024;

/**
 * Writes output to a terminal. A WebSocket of a browser cannot be slowed down: output that comes faster than it can be shown is left out, so
 * that the page goes on and Ctrl-C acts at once.
 */
export function outputTo(screen: Screen): (content: Uint8Array) => void {
  let waiting = 0;
  let left = 0;
  return (content) => {
    if (waiting + content.length > MAX_WAITING) {
      left += content.length;
      return;
    }
    // The terminal may be within a sequence that has lost its end: CAN ends it.
    if (left > 0) screen.write(`\u0018\r\n[${left} bytes of output were left out]\r\n`);
    left = 0;
    waiting += content.length;
    screen.write(content, () => {
      waiting -= content.length;
    });
  };
}

/** The containers of a pod in which a command can be run. */
export function runningContainers({ status }: Pod): readonly string[] {
  const all = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])];
  return all.filter(({ state }) => state?.running !== undefined).map(({ name }) => name);
}
