import { create, type Message } from '@bufbuild/protobuf';
import { type Clock, errorMessage } from '@gantry/base';
import {
  type PortForwardInput,
  PortForwardInputSchema,
  type PortForwardOutput,
  type PortForwardStart,
  type StreamInput,
  StreamInputSchema,
  type StreamOutput,
  type StreamStart,
} from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import type { Client } from '@grpc/grpc-js';
import { AGENT_METHODS, AGENT_PORT, type AgentAddress, agentConnected, openAgent } from './agent-connection.ts';
import { AgentCall, AgentCallError, type StreamMethod } from './agent-call.ts';

/** Which container and which streams. */
export type ContainerStart = Omit<StreamStart, Generated>;
/** Which port of which pod. */
export type PortStart = Omit<PortForwardStart, Generated>;

type Generated = keyof Message | '$typeName' | '$unknown';

/** Streams to what runs on nodes. */
export interface AgentStreams {
  /** Connects to an agent. Rejects with StatusError. The session is disposed of when its streams have ended. */
  connect(agent: AgentAddress): Promise<AgentSession>;
}

/**
 * Streams over one connection. Each resolves when the agent has accepted it, and rejects with AgentRefusedError when the agent refuses
 * it; `signal` cancels it at any time.
 */
export interface AgentSession extends Disposable {
  /** Runs a command; cancelling it kills the process. */
  exec(start: ContainerStart, signal: AbortSignal): Promise<AgentCall<StreamInput, StreamOutput>>;
  /** Joins the streams of a container's first process. */
  attach(start: ContainerStart, signal: AbortSignal): Promise<AgentCall<StreamInput, StreamOutput>>;
  /** Connects to a port of a pod. */
  forward(start: PortStart, signal: AbortSignal): Promise<AgentCall<PortForwardInput, PortForwardOutput>>;
}

const CONNECT_MS = 5000;
/** Agents send messages of at most 1 MiB of data. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

const CHANNEL = {
  // A frozen or unreachable agent says nothing; its streams would last forever.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  // What may be on its way to a client that reads slowly.
  'grpc-node.flow_control_window': 1024 * 1024,
};

/** Streams over gRPC with mutual TLS; an agent's certificate must be made out to its node's name. */
export function createAgentStreams(tls: TlsSource, clock: Clock, port: number = AGENT_PORT): AgentStreams {
  return {
    connect: async (agent) => {
      const client = openAgent(tls, agent, {
        port,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        channel: CHANNEL,
      });
      try {
        await agentConnected(client, agent.node, clock.now() + CONNECT_MS);
      } catch (error) {
        client.close();
        throw error;
      }
      return session(client);
    },
  };
}

function session(client: Client): AgentSession {
  const join = (name: 'exec' | 'attach', value: ContainerStart, signal: AbortSignal) => {
    const start: StreamInput = create(StreamInputSchema, { part: { case: 'start', value } });
    const method = AGENT_METHODS[name] as StreamMethod<StreamInput, StreamOutput> | undefined;
    return begin(client, method, start, signal);
  };
  return {
    exec: (start, signal) => join('exec', start, signal),
    attach: (start, signal) => join('attach', start, signal),
    forward: (value, signal) => {
      const start: PortForwardInput = create(PortForwardInputSchema, { part: { case: 'start', value } });
      const method = AGENT_METHODS['portForward'] as StreamMethod<PortForwardInput, PortForwardOutput> | undefined;
      return begin(client, method, start, signal);
    },
    [Symbol.dispose]: () => client.close(),
  };
}

/** Sends the first message and waits for the agent's first. */
async function begin<In, Out extends { readonly part: { readonly case?: string | undefined } }>(
  client: Client,
  method: StreamMethod<In, Out> | undefined,
  start: In,
  signal: AbortSignal,
): Promise<AgentCall<In, Out>> {
  if (method === undefined) throw new AgentRefusedError(500, 'agents have no such method');
  const call = new AgentCall(client.getChannel(), method, signal);
  try {
    await call.send(start);
    const first = await call.next();
    if (first?.part.case === 'started') return call;
    throw new AgentRefusedError(500, 'the agent has not started the stream');
  } catch (error) {
    call.cancel();
    throw toAgentRefusal(error);
  }
}

/** An agent refuses a stream, or ends one. The message is for the client. */
export class AgentRefusedError extends Error {
  override readonly name = 'AgentRefusedError';
  /** Of HTTP. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What an error of a call means; an agent's refusal comes with the Status that it stands for. Never throws. */
export function toAgentRefusal(error: unknown): AgentRefusedError {
  if (error instanceof AgentRefusedError) return error;
  if (!(error instanceof AgentCallError)) return new AgentRefusedError(500, errorMessage(error));
  const { code = 500, message = error.details } = parseStatus(error.metadata.get('gantry-status-bin')[0]);
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
