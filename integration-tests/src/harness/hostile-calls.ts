import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import http2 from 'node:http2';
import type { Random } from '@gantry/base';

/** Where calls go, and with which certificate; without one the handshake is refused. */
export interface CallTarget {
  readonly address: string;
  readonly port: number;
  readonly identity: { readonly cert: Buffer; readonly key: Buffer } | 'anonymous';
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

const OBJECT_METHODS = ['Get', 'List', 'Watch', 'Create', 'Update', 'UpdateStatus', 'Patch', 'Delete', 'Batch'];
const TEXTS = [
  '',
  'a',
  'default',
  'pods',
  'configmaps',
  'v1',
  'apps',
  '../..',
  'x'.repeat(70_000),
  '\u0000',
  'ünïcode',
];
const MAX_DEPTH = 3;

/** The path of a method of the apiservers' services or of the agents'. */
export function hostileMethod(random: Random, service: 'apiserver' | 'agent'): string {
  if (random() < 0.05)
    return pick(random, ['/', '//', '/gantry.v1.ObjectService/', '/grpc.health.v1.Health/Check', '/x/y']);
  return service === 'agent'
    ? '/gantry.v1.AgentService/ContainerLogs'
    : `/gantry.v1.ObjectService/${pick(random, OBJECT_METHODS)}`;
}

/** A gRPC frame of a message whose fields are anything; its length is sometimes not that of the message. */
export function hostileFrame(random: Random): Buffer {
  const message = hostileMessage(random, 0);
  const head = Buffer.alloc(5);
  head[0] = random() < 0.05 ? 255 : 0;
  const length = random() < 0.05 ? pick(random, [0, 1, 2 ** 31, 2 ** 32 - 1]) : message.length;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

function hostileMessage(random: Random, depth: number): Buffer {
  const fields: Buffer[] = [];
  const count = 1 + Math.floor(random() * 6);
  for (let i = 0; i < count; i++) {
    const number = 1 + Math.floor(random() * 10);
    const kind = random();
    if (kind < 0.2) fields.push(Buffer.from([number << 3, Math.floor(random() * 128)]));
    else if (kind < 0.25) fields.push(Buffer.from([Math.floor(random() * 256), Math.floor(random() * 256)]));
    else {
      const nested = depth < MAX_DEPTH && random() < 0.4;
      const bytes = nested ? hostileMessage(random, depth + 1) : Buffer.from(pick(random, TEXTS));
      fields.push(Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes);
    }
  }
  return Buffer.concat(fields);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

const UNKNOWN = '2';
const INTERNAL = '13';

/** How long a call may last: watches and followed logs have no end of their own. */
const CALL_MS = 2000;

/** Sends calls over one connection, one after the other; returns their gRPC codes: '' for those that ended without one, `undecodable` for what
 * gRPC itself could not read, of which it says INTERNAL, and `failed` for a 500 of the server. */
export async function sendCalls(
  target: CallTarget,
  random: Random,
  service: 'apiserver' | 'agent',
  count: number,
): Promise<readonly string[]> {
  const codes: string[] = [];
  let session: http2.ClientHttp2Session | undefined;
  for (let i = 0; i < count; i++) {
    if (session === undefined || session.closed || session.destroyed) session = connectTo(target);
    codes.push(await sendCall(session, hostileMethod(random, service), hostileFrame(random)));
  }
  session?.destroy();
  return codes;
}

function connectTo({ address, port, identity }: CallTarget): http2.ClientHttp2Session {
  const session = http2.connect(`https://${address}:${port}`, {
    // The server is not what is tested here.
    rejectUnauthorized: false,
    ...(identity === 'anonymous' ? {} : identity),
  });
  session.on('error', () => undefined); // A refused handshake ends the calls, which says so.
  return session;
}

async function sendCall(session: http2.ClientHttp2Session, path: string, frame: Buffer): Promise<string> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let code = '';
  const take = (headers: http2.IncomingHttpHeaders): void => {
    const status = headers['grpc-status'];
    if (typeof status !== 'string') return;
    const isServerError = status === INTERNAL || status === UNKNOWN;
    // The servers send a Status with every failure of theirs.
    code = !isServerError ? status : 'gantry-status-bin' in headers ? 'failed' : 'undecodable';
  };
  stream.on('response', take);
  stream.on('trailers', take);
  stream.on('error', () => undefined); // It counts as a call without a code.
  stream.setTimeout(CALL_MS, () => stream.close(http2.constants.NGHTTP2_CANCEL));
  stream.resume();
  stream.end(frame);
  if (!stream.closed) await once(stream, 'close').catch(() => undefined);
  return code;
}
