import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { isIPv6 } from 'node:net';
import { type CancelTimer, type Clock, errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { TlsSource } from '@gantry/tls';
import type { AgentAddress } from './agent-connection.ts';

const CONNECT_MS = 5000;
/** A frozen or unreachable agent says nothing; its streams would last forever. */
const KEEPALIVE = { everyMs: 10_000, answerMs: 5000 };
/** What may be on its way to a client that reads slowly. */
const WINDOW_BYTES = 1024 * 1024;

/**
 * A connection to an agent for calls that are streams of bytes. These go through HTTP/2 itself, in gRPC's protocol: grpc-js takes twice the
 * processor time for each byte. Disposing of it lets its calls end.
 */
export interface AgentChannel extends Disposable {
  /** Begins a call of the method with this path. Its failures come out of the stream. */
  begin(path: string): ClientHttp2Stream;
}

/**
 * Connects with mutual TLS; the agent's certificate must be made out to its node's name. Rejects with StatusError 'ServiceUnavailable' when
 * the agent does not answer.
 */
export async function openAgentChannel(
  tls: TlsSource,
  { node, host }: AgentAddress,
  port: number,
  clock: Clock,
): Promise<AgentChannel> {
  const { ca, key, cert } = tls.current();
  const session = connect(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`, {
    ca,
    key,
    cert,
    servername: node,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
  });
  try {
    await connected(session, clock);
  } catch (error) {
    session.destroy();
    throw StatusError.unavailable(
      `the agent of node ${JSON.stringify(node)} cannot be reached: ${errorMessage(error)}`,
    );
  }
  session.setLocalWindowSize(WINDOW_BYTES);
  keepAlive(session, clock);
  return {
    begin: (path) =>
      session.request(
        {
          [constants.HTTP2_HEADER_METHOD]: 'POST',
          [constants.HTTP2_HEADER_PATH]: path,
          [constants.HTTP2_HEADER_AUTHORITY]: node,
          [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
          [constants.HTTP2_HEADER_TE]: 'trailers',
        },
        { endStream: false },
      ),
    [Symbol.dispose]: () => session.close(),
  };
}

function connected(session: ClientHttp2Session, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(CONNECT_MS, () => reject(new Error(`no answer within ${CONNECT_MS} ms`)));
    // It stays: the calls of a connection that breaks fail by themselves.
    session.on('error', (error) => {
      cancel();
      reject(error);
    });
    session.once('close', () => {
      cancel();
      reject(new Error('the connection was closed'));
    });
    session.once('connect', () => {
      cancel();
      resolve();
    });
  });
}

/** Until the connection is closed. */
function keepAlive(session: ClientHttp2Session, clock: Clock): void {
  let cancel: CancelTimer = () => undefined;
  const ping = (): void => {
    cancel = clock.setTimer(KEEPALIVE.answerMs, () => session.destroy(new Error('the agent does not answer')));
    const isSent = session.ping((error) => {
      cancel();
      if (error === null && !session.destroyed) wait();
    });
    if (!isSent) session.destroy();
  };
  const wait = (): void => {
    cancel = clock.setTimer(KEEPALIVE.everyMs, ping);
  };
  session.once('close', () => cancel());
  wait();
}
