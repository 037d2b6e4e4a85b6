import type { Clock } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import {
  chooseForPorts,
  HandshakeError,
  MessageMemory,
  type MessageShare,
  NegotiationError,
  parsePorts,
  servePorts,
  type Upgrade,
  type UpgradeExchange,
} from '@gantry/streams';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { forwardPort } from './forward-port.ts';
import { serveCommand } from './serve-command.ts';
import { StreamLimits } from './stream-limits.ts';
import { type AcceptedStream, StreamTickets } from './stream-tickets.ts';

/** The parts of an agent that streams need. */
export interface StreamParts {
  readonly runtime: Runtime;
  readonly owner: Owner;
  readonly clock: Clock;
}

/** A client's request for a stream, forwarded by the API server. */
export type StreamRequest = Pick<UpgradeExchange, 'req' | 'res'> & {
  readonly upgrade: Upgrade;
  readonly query: URLSearchParams;
};

/** Streams into the containers and pods of a node: exec, attach and port-forward. */
export class PodStreams {
  readonly tickets: StreamTickets;
  readonly #parts: StreamParts;
  readonly #limits = new StreamLimits();
  readonly #memory = new MessageMemory();

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.tickets = new StreamTickets({ ...parts, limits: this.#limits });
  }

  /**
   * Speaks the client's protocol until the stream has ended. Like the kubelet, it refuses a stream that cannot be served with a text,
   * which kubectl prints after `unable to upgrade connection`. StatusError 'NotFound' for an unknown ticket.
   */
  async serve(ticket: string, request: StreamRequest): Promise<void> {
    using stream = this.tickets.redeem(ticket);
    if (stream === undefined) throw new StatusError('NotFound', 'the ticket of the stream is not known');
    request.upgrade.socket.on('error', () => undefined);
    try {
      await this.#serve(stream, request);
    } catch (error) {
      refuse(request, error);
    }
  }

  async #serve(stream: AcceptedStream, { req, res, upgrade, query }: StreamRequest): Promise<void> {
    const { start, signal } = stream;
    const messages = this.#memory.of(start.user);
    const exchange = { req, res, signal };
    if (start.target.case === 'ports') await this.#servePorts(stream, exchange, upgrade, query, messages);
    else await serveCommand({ ...this.#parts, messages }, stream, exchange, upgrade);
  }

  async #servePorts(
    { start, id, signal }: AcceptedStream,
    exchange: UpgradeExchange,
    upgrade: Upgrade,
    query: URLSearchParams,
    messages: MessageShare,
  ): Promise<void> {
    const { runtime, clock } = this.#parts;
    const choice = chooseForPorts(exchange.req);
    const ports = choice.kind === 'websocket' ? parsePorts(query) : [];
    if ('refused' in ports) throw StatusError.badRequest(ports.refused);
    const ended = new AbortController();
    const parts = {
      runtime,
      limits: this.#limits,
      start,
      sandboxId: id,
      signal: AbortSignal.any([signal, ended.signal]),
    };
    try {
      await servePorts(exchange, upgrade, choice, {
        ports,
        clock,
        messages,
        serve: (streams) => void forwardPort(parts, streams),
      });
    } finally {
      ended.abort();
    }
  }
}

/** Sends an error response. Closes the connection and rethrows errors that are not refusals: the protocol may have changed already. */
function refuse({ res, upgrade }: StreamRequest, error: unknown): void {
  const code = codeOf(error);
  if (code === undefined) {
    upgrade.socket.destroy();
    throw error;
  }
  if (error instanceof NegotiationError && error.accepted.length > 0) {
    res.setHeader('x-accepted-stream-protocol-versions', [...error.accepted]);
  }
  res.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' }).end((error as Error).message);
}

function codeOf(error: unknown): number | undefined {
  if (error instanceof NegotiationError || error instanceof StatusError) return error.code;
  return error instanceof HandshakeError ? 400 : undefined;
}
