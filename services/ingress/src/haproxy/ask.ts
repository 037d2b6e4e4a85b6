import { createConnection } from 'node:net';

const ANSWER_MS = 30_000;

/** HAProxy does not do what it was asked. */
export class HaproxyError extends Error {
  override readonly name = 'HaproxyError';
}

/** Sends one line, with what belongs to it, to a socket of HAProxy and gives the answer. */
export function ask(socket: string, line: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const parts: Buffer[] = [];
  const connection = createConnection({ path: socket, signal });
  connection.setTimeout(ANSWER_MS, () => connection.destroy(new HaproxyError(`no answer within ${ANSWER_MS} ms`)));
  connection.on('data', (part: Buffer) => parts.push(part));
  connection.on('error', reject);
  connection.on('close', () => resolve(Buffer.concat(parts).toString('utf8').trim()));
  connection.end(`${line}\n`);
  return promise;
}
