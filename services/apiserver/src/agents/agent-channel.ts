import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type CancelTimer, type Clock, errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { TlsSource } from '@gantry/tls';
import type { AgentAddress } from './agent-connection.ts';

/** Of HTTP/2's client, which connects by a socket of ours. */
const AUTHORITY = 'agent';
const CONNECT_MS = 5000;
/** For calls that were cancelled, of which the agent is told. */
const CLOSE_MS = 5000;
/** A frozen or unreachable agent says nothing; its streams would last forever. */
const KEEPALIVE = { everyMs: 10_000, answerMs: 5000 };
/** What may be on its way to a client that reads slowly. */
const WINDOW_BYTES = 1024 * 1024;

/** Why a connection was cut. */
class AgentSilentError extends Error {
  override readonly name = 'AgentSilentError';
}

/**
 * A connection to an agent for calls that are streams of bytes. These go through HTTP/2 itself, in gRPC's protocol: grpc-js takes twice the
 * processor time for each byte. Disposing of it ends it when its calls have ended, of which the agent hears within some seconds.
 */
export interface AgentChannel extends Disposable {
  /** Whether calls can begin: the agent may have ended the connection. */
  readonly isOpen: boolean;
  /** Begins a call of the method with this path. Its failures come out of the stream; throws when the connection is not open. */
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
  const socket = connectTls({ host, port, servername: node, ALPNProtocols: ['h2'], ca, key, cert });
  const session = connect(`https://${AUTHORITY}`, {
    createConnection: () => socket,
    // Of HTTP/2's own bookkeeping. What calls hold is bounded by windows and by writers that wait.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
  });
  try {
    await connected(session, clock);
  } catch (error) {
    session.destroy();
    socket.destroy();
    throw StatusError.unavailable(
      `the agent of node ${JSON.stringify(node)} cannot be reached: ${errorMessage(error)}`,
    );
  }
  session.setLocalWindowSize(WINDOW_BYTES);
  const stop = keepAlive(session, socket, clock);
  return {
    get isOpen() {
      return !session.closed && !session.destroyed;
    },
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
    [Symbol.dispose]: () => {
      stop();
      session.close();
      // An agent that no longer reads would keep what was written, and the connection with it.
      if (!socket.destroyed)
        socket.once(
          'close',
          clock.setTimer(CLOSE_MS, () => socket.destroy()),
        );
    },
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

/** Cuts the connection when the agent does not answer, until the result is called or the connection is closed. */
function keepAlive(session: ClientHttp2Session, socket: TLSSocket, clock: Clock): () => void {
  let cancel: CancelTimer = () => undefined;
  // Node.js lets a session go on until what was written has gone out, so the socket itself is cut.
  const cut = (): void => {
    session.destroy(new AgentSilentError('the agent does not answer'));
    socket.destroy();
  };
  const wait = (): void => {
    cancel = clock.setTimer(KEEPALIVE.everyMs, () => {
      if (session.destroyed) return;
      cancel = clock.setTimer(KEEPALIVE.answerMs, cut);
      session.ping((error) => {
        cancel();
        if (error === null && state === 'kept') wait();
      });
    });
  };
  let state: 'kept' | 'stopped' = 'kept';
  const stop = (): void => {
    state = 'stopped';
    cancel();
  };
  session.once('close', stop);
  wait();
  return stop;
}
