import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Clock } from '@gantry/base';
import { type StreamStart, StreamStartSchema, type StreamTicket } from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import { type Client, type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Backend } from '../http/backend.ts';
import { AGENT_PORT, type AgentAddress, agentConnected, agentBackend, openAgent } from './agent-connection.ts';

/** A stream that an agent has accepted, for one request. Disposing of it tells the agent to end it. */
export interface AcceptedStream extends Disposable {
  /** Where the client's request is passed on to. */
  readonly backend: Backend;
  readonly path: string;
  /** Aborted when the agent is gone or does not answer. Not aborted when it has ended the stream. */
  readonly lost: AbortSignal;
}

/** Opens streams to what runs on nodes. */
export interface AgentStreams {
  /** Rejects with AgentRefusedError when the agent refuses the stream, with StatusError when it cannot be reached. */
  open(agent: AgentAddress, start: MessageInitShape<typeof StreamStartSchema>): Promise<AcceptedStream>;
}

type StreamClient = Client & {
  openStream(start: StreamStart, metadata: Metadata): ClientReadableStream<StreamTicket>;
};

const CONNECT_MS = 5000;
/** Of a ticket. */
const MAX_MESSAGE_BYTES = 4096;
/** A frozen or unreachable agent says nothing; its streams would last forever. */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 10_000, 'grpc.keepalive_timeout_ms': 5000 };

/** Streams over mutual TLS; an agent's certificate must be made out to its node's name. */
export function createAgentStreams(tls: TlsSource, clock: Clock, port: number = AGENT_PORT): AgentStreams {
  return {
    open: async (agent, start) => {
      const options = { port, maxMessageBytes: MAX_MESSAGE_BYTES, channel: KEEPALIVE };
      const client = openAgent(tls, agent, options) as StreamClient;
      try {
        await agentConnected(client, agent.node, clock.now() + CONNECT_MS);
        const call = client.openStream(create(StreamStartSchema, start), new Metadata());
        const { ticket, lost } = await begin(call);
        const dispose = () => {
          call.cancel();
          client.close();
        };
        return { backend: agentBackend(tls, agent, port), path: `/streams/${ticket}`, lost, [Symbol.dispose]: dispose };
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
      // It is our own end of the call otherwise.
      if (error.code !== status.CANCELLED) lost.abort(error);
    });
    call.once('end', () => reject(new AgentRefusedError(500, 'the agent has not started the stream')));
  });
}

/** An agent refuses a stream. The message is for the client. */
export class AgentRefusedError extends Error {
  override readonly name = 'AgentRefusedError';
  /** Of HTTP. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** An agent's refusal comes with the Status that it stands for. */
function toRefusal({ metadata, code: grpcCode, details }: ServiceError): AgentRefusedError {
  const { code = 500, message = `${status[grpcCode] ?? grpcCode}: ${details}` } = parseStatus(
    metadata?.get('gantry-status-bin')[0],
  );
  return new AgentRefusedError(code, message);
}

function parseStatus(carried: unknown): { readonly code?: number; readonly message?: string } {
  if (!Buffer.isBuffer(carried)) return {};
  try {
    const { code, message } = JSON.parse(carried.toString('utf8')) as Readonly<Record<string, unknown>>;
    const isError = typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600;
    return { ...(isError ? { code } : {}), ...(typeof message === 'string' ? { message } : {}) };
  } catch {
    // No Status: the error of gRPC has a text of its own.
    return {};
  }
}
