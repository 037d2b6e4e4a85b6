import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Clock, onAbort } from '@gantry/base';
import { type StreamStart, StreamStartSchema, type StreamTicket } from '@gantry/proto';
import type { Liveness, TlsSource } from '@gantry/tls';
import { type Client, type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Backend } from '../http/backend.ts';
import {
  AGENT_PORT,
  type AgentAddress,
  agentBackend,
  agentConnected,
  openLiveAgent,
  STREAM_LIVENESS,
} from './agent-connection.ts';

/** A stream on an agent, for one request. Disposal makes the agent end it. */
export interface OpenStream extends Disposable {
  /** The backend to which the client's request is forwarded. */
  readonly backend: Backend;
  readonly path: string;
  /** Aborted when the agent is gone or does not respond, but not when the agent has ended the stream. */
  readonly lost: AbortSignal;
  /** To be called when bytes of the stream arrive: the agent lives then, even if it answers no ping. */
  heard(): void;
}

/** Opens streams on agents. */
export interface AgentStreams {
  /**
   * Rejects with StreamRefusedError when the agent rejects the stream or `signal` is aborted before, and with StatusError when the agent is
   * unreachable.
   */
  open(
    agent: AgentAddress,
    start: MessageInitShape<typeof StreamStartSchema>,
    signal: AbortSignal,
  ): Promise<OpenStream>;
}

type StreamClient = Client & {
  openStream(start: StreamStart, metadata: Metadata): ClientReadableStream<StreamTicket>;
};

const CONNECT_MS = 5000;
/** Maximum size of a message of the agent. */
const MAX_MESSAGE_BYTES = 4096;

/** Opens streams over mutual TLS. The certificate of an agent must have the name of its node. */
export function createAgentStreams(
  tls: TlsSource,
  clock: Clock,
  port: number = AGENT_PORT,
  liveness: Liveness = STREAM_LIVENESS,
): AgentStreams {
  return {
    open: async (agent, start, signal) => {
      const options = { port, maxMessageBytes: MAX_MESSAGE_BYTES, liveness, clock };
      const { client: opened, live } = openLiveAgent(tls, agent, options);
      const client = opened as StreamClient;
      try {
        await agentConnected(client, agent.node, clock.now() + CONNECT_MS);
        const call = client.openStream(create(StreamStartSchema, start), new Metadata());
        using _ = onAbort(signal, () => call.cancel());
        const { ticket, lost } = await begin(call);
        const dispose = () => {
          call.cancel();
          client.close();
        };
        const backend = agentBackend(tls, agent, port);
        const heard = () => live.heard();
        return { backend, path: `/streams/${ticket}`, lost, heard, [Symbol.dispose]: dispose };
      } catch (error) {
        client.close();
        throw error;
      }
    },
  };
}

function begin(
  call: ClientReadableStream<StreamTicket>,
): Promise<{ readonly ticket: string; readonly lost: AbortSignal }> {
  const lost = new AbortController();
  return new Promise((resolve, reject) => {
    call.once('data', ({ ticket }: StreamTicket) => resolve({ ticket, lost: lost.signal }));
    call.on('error', (error: ServiceError) => {
      reject(toRefusal(error));
      // CANCELLED means that this process has ended the call itself.
      if (error.code !== status.CANCELLED) lost.abort(error);
    });
    call.once('end', () => reject(new StreamRefusedError(500, 'the agent has not started the stream')));
  });
}

/** A stream is refused, by the agent or before it is opened. The message is for the client. */
export class StreamRefusedError extends Error {
  override readonly name = 'StreamRefusedError';
  /** The HTTP status code. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Converts a gRPC error of an agent. Its metadata may contain a Status. */
function toRefusal({ metadata, code: grpcCode, details }: ServiceError): StreamRefusedError {
  const { code = 500, message = `${status[grpcCode] ?? grpcCode}: ${details}` } = parseStatus(
    metadata?.get('gantry-status-bin')[0],
  );
  return new StreamRefusedError(code, message);
}

function parseStatus(carried: unknown): { readonly code?: number; readonly message?: string } {
  if (!Buffer.isBuffer(carried)) return {};
  try {
    const { code, message } = JSON.parse(carried.toString('utf8')) as Readonly<Record<string, unknown>>;
    const isError = typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600;
    return { ...(isError ? { code } : {}), ...(typeof message === 'string' ? { message } : {}) };
  } catch {
    // Without a Status, the caller uses the text of the gRPC error.
    return {};
  }
}
