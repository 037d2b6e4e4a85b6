import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { backoffMs, type BackoffOptions, type Clock, onAbort, pause, type Random, setPatientTimer } from '@gantry/base';
import { EtcdError } from '../etcd-error.ts';
import type { Watch, WatchedEvent, Watcher, WatchItem, WatchRequest } from '../ports.ts';
import {
  type WatchCreateRequestSchema,
  WatchRequestSchema,
  type WatchResponse,
  type WatchResponseSchema,
  Watch as Wire,
} from '../gen/rpc_pb.ts';
import type { Stream } from './member-connection.ts';
import type { MemberSet } from './member-set.ts';
import { fromWireEvent, revisionOf } from './wire.ts';

/** The delays of a watch; tests shorten them. */
export interface WatchTimings {
  /** Time without messages after which progress is requested, to check the connection. */
  readonly idleMs: number;
  /** Time for the response to that request, or to the creation of the watch, before another member is tried. */
  readonly answerMs: number;
}

/** The delays in production. */
export const WATCH_TIMINGS: WatchTimings = { idleMs: 5000, answerMs: 2500 };

interface WatcherOptions {
  readonly members: MemberSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly timings: WatchTimings;
}

type WatchCall = Stream<typeof WatchRequestSchema, typeof WatchResponseSchema>;

const RECONNECT: BackoffOptions = { initialMs: 20, maxMs: 1000 };

/**
 * Watches on etcd's raw stream. States: connecting (a member creates the watch); live (messages are delivered, and the connection is
 * checked when there are none); connecting to the next member. The new watch starts at the first revision after the last one that was
 * delivered completely.
 */
export function createWatcher(options: WatcherOptions): Watcher {
  return { watch: (request, signal) => new ResumingWatch(options, request, signal) };
}

class ResumingWatch implements Watch {
  readonly #options: WatcherOptions;
  readonly #request: WatchRequest;
  readonly #signal: AbortSignal;
  #next: number;
  #member: number;
  #stream: WatchCall | undefined;

  constructor(options: WatcherOptions, request: WatchRequest, signal: AbortSignal) {
    this.#options = options;
    this.#request = request;
    this.#signal = signal;
    this.#next = request.startRevision;
    this.#member = options.members.preferred;
  }

  requestProgress(): void {
    if (this.#stream?.writable === true) this.#send(this.#stream, { case: 'progressRequest', value: {} });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchItem> {
    const { clock, random } = this.#options;
    let failures = 0;
    while (!this.#signal.aborted) {
      try {
        for await (const item of this.#session()) {
          failures = 0;
          yield item;
          if (item.kind === 'compacted') return;
          this.#next = Math.max(this.#next, item.revision + 1);
        }
      } catch (error) {
        if (error instanceof EtcdError && error.code === 'permission-denied') throw error;
        // Every other error is a lost connection or a failing member: the next member continues from here.
      }
      this.#member += 1;
      failures += 1;
      if (failures > 1) await pause(clock, backoffMs(RECONNECT, failures - 1, random), this.#signal);
    }
  }

  /** One connection to one member, until it ends or fails. */
  async *#session(): AsyncGenerator<WatchItem> {
    const { members } = this.#options;
    const stream = members.at(this.#member).stream(Wire.method.watch);
    const cancel = () => stream.cancel();
    using _ = onAbort(this.#signal, cancel);
    const stopListening = members.onRenewal(cancel);
    this.#stream = stream;
    try {
      this.#send(stream, { case: 'createRequest', value: this.#createRequest() });
      yield* this.#messages(stream);
    } finally {
      this.#stream = undefined;
      stopListening();
      stream.cancel();
    }
  }

  #send(stream: WatchCall, requestUnion: MessageInitShape<typeof WatchRequestSchema>['requestUnion']): void {
    stream.write(create(WatchRequestSchema, { requestUnion }));
  }

  #createRequest(): MessageInitShape<typeof WatchCreateRequestSchema> {
    const { key, rangeEnd = '' } = this.#request;
    return {
      key: Buffer.from(key),
      rangeEnd: Buffer.from(rangeEnd),
      startRevision: BigInt(this.#next),
      progressNotify: true,
      fragment: true,
    };
  }

  async *#messages(stream: WatchCall): AsyncGenerator<WatchItem> {
    const messages = stream[Symbol.asyncIterator]() as AsyncIterator<WatchResponse>;
    let fragments: WatchedEvent[] = [];
    let state: 'opening' | 'live' = 'opening';
    for (;;) {
      const message = await this.#nextMessage(stream, messages, state);
      if (message === undefined) return;
      if (message.canceled) {
        const compactRevision = Number(message.compactRevision);
        if (compactRevision > 0) yield { kind: 'compacted', compactRevision };
        else throw cancelled(message.cancelReason);
        return;
      }
      state = 'live';
      if (message.created) continue;
      for (const event of message.events) fragments.push(fromWireEvent(event));
      if (message.fragment) continue;
      const last = fragments.at(-1);
      if (last !== undefined) {
        const events = fragments;
        fragments = [];
        yield { kind: 'events', events, revision: last.kind === 'put' ? last.kv.modRevision : last.modRevision };
      } else yield { kind: 'progress', revision: revisionOf(message) };
    }
  }

  /** Waits for a message. Without one it requests progress, and closes the stream when there is no response. */
  async #nextMessage(
    stream: WatchCall,
    messages: AsyncIterator<WatchResponse>,
    state: 'opening' | 'live',
  ): Promise<WatchResponse | undefined> {
    const { clock, timings } = this.#options;
    let cancelTimer = () => {};
    const cut = () => stream.cancel();
    const probe = () => {
      this.requestProgress();
      cancelTimer = setPatientTimer(clock, timings.answerMs, cut);
    };
    cancelTimer =
      state === 'opening' ? setPatientTimer(clock, timings.answerMs, cut) : clock.setTimer(timings.idleMs, probe);
    try {
      const next = await messages.next();
      return next.done === true ? undefined : next.value;
    } finally {
      cancelTimer();
    }
  }
}

function cancelled(reason: string): EtcdError {
  const denied = /permission denied|invalid auth token|user name/.test(reason);
  return new EtcdError(denied ? 'permission-denied' : 'unavailable', `watch cancelled: ${reason}`);
}
