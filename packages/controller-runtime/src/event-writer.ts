import { type Event, EVENTS, type KubeObject, type ObjectReference, StatusError } from '@gantry/objects';
import { type Clock, errorMessage, formatTime, type Instant, pause, type Random } from '@gantry/base';
import { ignoreNotFound, type ObjectWriter } from '@gantry/client';
import { type CorrelatedEvent, EventCorrelator, type ReportedEvent } from './event-correlator.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { Log } from './log.ts';

export interface EventRecorderOptions {
  readonly client: Pick<ObjectWriter, 'create' | 'patch'>;
  /** `source.component` of the Events. */
  readonly component: string;
  /** `source.host`, for components of a node. */
  readonly host?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A recorder that queues Events and writes them in the background. */
export interface EventWriter extends EventRecorder {
  /** Resolves when everything recorded so far has been written or has failed. */
  flush(signal: AbortSignal): Promise<void>;
  /** Drops queued Events and accepts no more. */
  close(): void;
}

interface Pending extends ReportedEvent, CorrelatedEvent {
  readonly at: Instant;
}

const MAX_QUEUE = 1000;
/** How often an Event is tried while the API cannot be reached, and the pause between, as in Kubernetes; the first is shorter. */
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const UNREACHABLE: readonly string[] = ['ServiceUnavailable', 'Timeout', 'ServerTimeout', 'TooManyRequests'];

/** Writes Events the way Kubernetes' recorder does. */
export function createEventRecorder(options: EventRecorderOptions): EventWriter {
  return new QueuedEventWriter(options);
}

class QueuedEventWriter implements EventWriter {
  readonly #options: EventRecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #abort = new AbortController();
  /** Ends pauses between tries: what cannot be written now is dropped. */
  #hurry = new AbortController();
  #queue: Pending[] = [];
  #lastNanos = 0n;
  #running: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#correlator = new EventCorrelator((about, at) => this.#newName(about, at));
  }

  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void {
    if (this.#abort.signal.aborted || this.#queue.length >= MAX_QUEUE) return;
    const at = this.#options.clock.now();
    const reported: ReportedEvent = { about: referenceTo(about, fieldPath), type, reason, message };
    const correlated = this.#correlator.correlate(reported, at);
    if (correlated === undefined) return;
    this.#queue.push({ ...reported, ...correlated, at });
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
    });
  }

  async flush(signal: AbortSignal): Promise<void> {
    const close = () => this.close();
    if (signal.aborted) close();
    else signal.addEventListener('abort', close, { once: true });
    this.#hurry.abort();
    await this.#running;
    this.#hurry = new AbortController();
    signal.removeEventListener('abort', close);
  }

  close(): void {
    this.#queue = [];
    this.#abort.abort();
    this.#hurry.abort();
  }

  async #drain(): Promise<void> {
    for (let tries = 1; ; ) {
      const [next] = this.#queue;
      if (next === undefined) return;
      try {
        await this.#write(next);
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        if (await this.#isWorthAnother(error, tries)) {
          tries += 1;
          continue;
        }
        const { reason, message } = next;
        this.#options.log.debug({ event: reason, message, reason: errorMessage(error) }, 'an Event was not written');
      }
      this.#queue.shift();
      tries = 1;
    }
  }

  /** Waits before another try of an Event that the API may take later. */
  async #isWorthAnother(error: unknown, tries: number): Promise<boolean> {
    const { clock, random } = this.#options;
    const { signal } = this.#hurry;
    if (signal.aborted || tries >= MAX_TRIES || !isUnreachable(error)) return false;
    await pause(clock, tries === 1 ? RETRY_MS * random() : RETRY_MS, signal);
    return true;
  }

  /** An Event that exists is counted up. When it has expired since, it is made again with its name and count. */
  async #write(pending: Pending): Promise<void> {
    const { client } = this.#options;
    const { name, count, message, at } = pending;
    const { signal } = this.#abort;
    const event = this.#compose(pending);
    const { namespace = '' } = event.metadata;
    if (count > 1) {
      const strategic = { count, lastTimestamp: formatTime(at), message };
      const patched = await ignoreNotFound(client.patch(EVENTS, { namespace, name }, { strategic }, signal));
      if (patched !== undefined) return;
    }
    await client.create(EVENTS, event, signal);
  }

  #newName(about: ObjectReference, at: Instant): string {
    const nanos = BigInt(at) * 1_000_000n + BigInt(Math.floor(this.#options.random() * 1_000_000));
    // Two Events about one object at the same moment have different names.
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return `${about.name ?? ''}.${this.#lastNanos.toString(16)}`;
  }

  #compose({ about, type, reason, message, count, first, name, at }: Pending): Event {
    const { component, host } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: about.namespace ?? 'default' },
      involvedObject: about,
      reason,
      message,
      source: { component, ...(host === undefined ? {} : { host }) },
      firstTimestamp: formatTime(first),
      lastTimestamp: formatTime(at),
      count,
      type,
      reportingComponent: component,
      reportingInstance: host ?? '',
    };
  }
}

function isUnreachable(error: unknown): boolean {
  return !(error instanceof StatusError) || UNREACHABLE.includes(error.reason);
}

function referenceTo(about: KubeObject, fieldPath: string | undefined): ObjectReference {
  const { namespace, name, uid, resourceVersion } = about.metadata;
  return {
    kind: about.kind,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    apiVersion: about.apiVersion,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
  };
}
