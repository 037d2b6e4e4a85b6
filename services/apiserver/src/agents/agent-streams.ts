import { create, type DescMethod, type Message } from '@bufbuild/protobuf';
import { type Clock, errorMessage } from '@gantry/base';
import {
  AgentService,
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
import { AgentCall, AgentCallError } from './agent-call.ts';
import { type AgentChannel, openAgentChannel } from './agent-channel.ts';
import { AGENT_PORT, type AgentAddress } from './agent-connection.ts';

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

/** Streams over gRPC with mutual TLS; an agent's certificate must be made out to its node's name. */
export function createAgentStreams(tls: TlsSource, clock: Clock, port: number = AGENT_PORT): AgentStreams {
  const open = (agent: AgentAddress) => openAgentChannel(tls, agent, port, clock);
  return { connect: async (agent) => session(await open(agent), () => open(agent)) };
}

/** `reopen` is called when the agent has ended the connection: it may have been started again since. */
function session(first: AgentChannel, reopen: () => Promise<AgentChannel>): AgentSession {
  let newest = first;
  let opening: Promise<AgentChannel> | undefined;
  let state: 'used' | 'disposed' = 'used';
  const channel = async (): Promise<AgentChannel> => {
    if (newest.isOpen) return newest;
    newest[Symbol.dispose]();
    opening ??= reopen().finally(() => {
      opening = undefined;
    });
    newest = await opening;
    if (state === 'disposed') newest[Symbol.dispose]();
    return newest;
  };
  const join = async (name: 'exec' | 'attach', value: ContainerStart, signal: AbortSignal) => {
    const start: StreamInput = create(StreamInputSchema, { part: { case: 'start', value } });
    return await begin<StreamInput, StreamOutput>(await channel(), AgentService.method[name], start, signal);
  };
  return {
    exec: (start, signal) => join('exec', start, signal),
    attach: (start, signal) => join('attach', start, signal),
    forward: async (value, signal) => {
      const start: PortForwardInput = create(PortForwardInputSchema, { part: { case: 'start', value } });
      const { portForward } = AgentService.method;
      return await begin<PortForwardInput, PortForwardOutput>(await channel(), portForward, start, signal);
    },
    [Symbol.dispose]: () => {
      state = 'disposed';
      newest[Symbol.dispose]();
    },
  };
}

/** Sends the first message and waits for the agent's first. */
async function begin<
  In extends Message,
  Out extends Message & { readonly part: { readonly case?: string | undefined } },
>(channel: AgentChannel, method: DescMethod, start: In, signal: AbortSignal): Promise<AgentCall<In, Out>> {
  const path = `/${method.parent.typeName}/${method.name}`;
  let call: AgentCall<In, Out> | undefined;
  try {
    call = new AgentCall<In, Out>(channel.begin(path), method, signal);
    await call.send(start);
    const first = await call.next();
    if (first?.part.case === 'started') return call;
    throw new AgentRefusedError(500, 'the agent has not started the stream');
  } catch (error) {
    call?.cancel();
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
  const { code = 500, message = error.details } = parseStatus(error.carried);
  return new AgentRefusedError(code, message);
}

function parseStatus(carried: Buffer | undefined): { readonly code?: number; readonly message?: string } {
  if (carried === undefined) return {};
  try {
    const { code, message } = JSON.parse(carried.toString('utf8')) as Readonly<Record<string, unknown>>;
    const isError = typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600;
    return { ...(isError ? { code } : {}), ...(typeof message === 'string' ? { message } : {}) };
  } catch {
    // No Status: the error of gRPC has a text of its own.
    return {};
  }
}
