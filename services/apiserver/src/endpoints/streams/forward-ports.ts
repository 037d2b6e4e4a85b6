import { create } from '@bufbuild/protobuf';
import { anySignal } from '@gantry/base';
import { type PortForwardInput, PortForwardInputSchema, type PortForwardOutput } from '@gantry/proto';
import type { AgentCall } from '../../agents/agent-call.ts';
import { type AgentSession, type PortStart, toAgentRefusal } from '../../agents/agent-streams.ts';
import { chooseForPorts, parsePorts, type PortStreams, servePorts } from '@gantry/streams';
import { copyInput, type InputSender } from './copy-input.ts';
import { writeTo } from './write-to.ts';
import { StreamRefusedError } from './stream-refusal.ts';
import type { StreamRequest } from './stream-request.ts';

/** Serves port-forward. Rejects while the request can still be answered; a connection that fails says so on its error stream. */
export async function forwardPorts({
  exchange,
  upgrade,
  pod,
  agent,
  agents,
  clock,
  messages,
}: StreamRequest): Promise<void> {
  const choice = chooseForPorts(exchange.req);
  const ports = choice.kind === 'websocket' ? parsePorts(exchange.query) : [];
  if ('refused' in ports) throw new StreamRefusedError(400, ports.refused);
  using session = await agents.connect(agent);
  const ended = new AbortController();
  using signal = anySignal(exchange.signal, ended.signal);
  const start = {
    namespace: pod.metadata.namespace ?? '',
    pod: pod.metadata.name ?? '',
    podUid: pod.metadata.uid ?? '',
  };
  const serve = (streams: PortStreams): void =>
    void forward(session, { ...start, port: streams.port }, streams, signal);
  exchange.audit.started(101);
  exchange.begun();
  try {
    await servePorts(exchange, upgrade, choice, { ports, clock, messages, serve });
  } finally {
    ended.abort();
  }
}

type Call = AgentCall<PortForwardInput, PortForwardOutput>;

async function forward(
  session: AgentSession,
  start: PortStart,
  { data, error }: PortStreams,
  signal: AbortSignal,
): Promise<void> {
  const closed = new AbortController();
  const stop = (): void => closed.abort();
  // The client has reset the connection, or has gone.
  data.once('close', stop);
  using either = anySignal(signal, closed.signal);
  try {
    const call = await session.forward(start, either);
    try {
      const sent = copyInput(data.iterator({ destroyOnReturn: false }), inputOf(call));
      await copyToClient(call, data, error);
      data.end();
      error.end();
      await sent;
    } finally {
      call.cancel();
    }
  } catch (failure) {
    if (!error.destroyed && !error.writableEnded) error.end(toAgentRefusal(failure).message);
    data.destroy();
  }
}

function inputOf(call: Call): InputSender {
  return {
    data: (value) => call.send(create(PortForwardInputSchema, { part: { case: 'data', value } })),
    end: () => call.send(create(PortForwardInputSchema, { part: { case: 'dataClosed', value: {} } })),
  };
}

/** Ends with the connection: after the pod has closed its side, the client may go on sending. */
async function copyToClient(call: Call, data: PortStreams['data'], error: PortStreams['error']): Promise<void> {
  for (;;) {
    const part = (await call.next())?.part;
    if (part === undefined) return;
    if (part.case === 'data') await writeTo(data, part.value);
    if (part.case !== 'dataClosed') continue;
    data.end();
    // Clients wait for the end of this one before they close their own side.
    error.end();
  }
}
