import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type Clock, onAbort } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { type ContainerStreams, type StreamStart, type StreamTicket, StreamTicketSchema } from '@gantry/proto';
import type { GrpcCall } from '@gantry/service';
import { requireApiServer } from '../identity/bootstrap-client.ts';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { findRunningContainer, findRunningSandbox } from './find-in-pod.ts';
import type { StreamLimits } from './stream-limits.ts';

/** How long a ticket is valid for the client's request. */
const TICKET_MS = 10_000;

/** A stream that the agent has accepted. Disposing of it ends the API server's call. */
export interface AcceptedStream extends Disposable {
  readonly start: StreamStart;
  /** The id of the running container, or of the pod's sandbox. */
  readonly id: string;
  /** Aborted when the API server ends the stream or becomes unreachable. */
  readonly signal: AbortSignal;
}

/** The parts of an agent that tickets need. */
export interface TicketParts {
  readonly runtime: Runtime;
  readonly owner: Owner;
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

/**
 * Connects streams from the API server to the agent. A gRPC call describes the stream and lasts as long as the stream. The call returns a
 * ticket, with which the client's request follows on a separate connection.
 */
export class StreamTickets {
  readonly #parts: TicketParts;
  readonly #waiting = new Map<string, AcceptedStream>();

  constructor(parts: TicketParts) {
    this.#parts = parts;
  }

  /** Handles a call. Yields one ticket and ends with the stream. Fails with a StatusError with the kubelet's message. */
  async *open(start: StreamStart, call: GrpcCall): AsyncIterable<StreamTicket> {
    requireApiServer(call, 'pods', '', 'use streams');
    const { limits, clock } = this.#parts;
    using _counted = limits.take(start.podUid);
    const id = await this.#find(start, call.signal);
    const ticket = randomBytes(32).toString('base64url');
    const ended = Promise.withResolvers<void>();
    const stream = { start, id, signal: call.signal, [Symbol.dispose]: ended.resolve };
    this.#waiting.set(ticket, stream);
    using _expiry = this.#expire(ticket, clock, call.signal, ended);
    try {
      yield create(StreamTicketSchema, { ticket });
      await ended.promise;
    } finally {
      this.#waiting.delete(ticket);
    }
  }

  /** The stream of a ticket. A ticket is valid for one request. */
  redeem(ticket: string): AcceptedStream | undefined {
    const found = this.#waiting.get(ticket);
    this.#waiting.delete(ticket);
    return found;
  }

  /** Ends the call of a ticket that is not used. */
  #expire(ticket: string, clock: Clock, signal: AbortSignal, ended: PromiseWithResolvers<void>): Disposable {
    const expire = (why: unknown) => {
      if (this.#waiting.has(ticket)) ended.reject(why);
    };
    const cancel = clock.setTimer(TICKET_MS, () =>
      expire(StatusError.timeout(`no request has followed within ${TICKET_MS / 1000} s`)),
    );
    const left = onAbort(signal, () => expire(signal.reason));
    return {
      [Symbol.dispose]: () => {
        cancel();
        left[Symbol.dispose]();
      },
    };
  }

  async #find(start: StreamStart, signal: AbortSignal): Promise<string> {
    const { runtime, owner } = this.#parts;
    const { case: kind, value } = start.target;
    if (kind === undefined) throw StatusError.badRequest('a stream must have a target');
    if (kind === 'ports') return await findRunningSandbox(runtime, owner, start, signal);
    checkStreams(kind, value);
    const { namespace, pod, podUid } = start;
    const reference = { namespace, pod, podUid, container: value.container };
    return (await findRunningContainer(runtime, owner, reference, signal)).id;
  }
}

function checkStreams(kind: 'exec' | 'attach', { command, stdin, stdout, stderr, tty }: ContainerStreams): void {
  if (kind === 'exec' && command.length === 0) {
    throw StatusError.badRequest('you must specify at least 1 command for the container');
  }
  if (tty && stderr) throw StatusError.badRequest('tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr) {
    throw StatusError.badRequest('you must specify at least 1 of stdin, stdout, stderr');
  }
}
