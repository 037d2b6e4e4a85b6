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
