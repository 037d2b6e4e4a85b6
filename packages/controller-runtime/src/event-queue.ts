import { type Clock, errorMessage, type Instant, pause, type Random } from '@gantry/base';
import { ignoreNotFound, type ObjectWriter } from '@gantry/client';
import { type Event, EVENTS, type KubeObject, type ObjectReference, StatusError } from '@gantry/objects';
import type { Log } from './log.ts';

export interface EventQueueOptions {
  readonly client: Pick<ObjectWriter, 'create' | 'patch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** An Event to create. With `change`: an existing Event and the strategic merge patch of its changes. */
export interface EventWrite {
  readonly event: Event;
  readonly change?: object;
}

const MAX_QUEUE = 1000;
/** The number of Events written at a time: an API server commits simultaneous writes together. */
const MAX_BATCH = 16;
/** Attempts per Event while the API is unreachable, and the pause between them, as in Kubernetes. The first pause is shorter. */
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const UNREACHABLE: readonly string[] = ['ServiceUnavailable', 'Timeout', 'ServerTimeout', 'TooManyRequests'];

/**
 * Writes Events in the background, several at a time. Writes to the same Event keep their order. Drops Events that the API rejects, and new
 * Events while the queue is full.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  readonly #abort = new AbortController();
  /** Aborted to end pauses between attempts: Events that cannot be written now are dropped. */
  #hurry = new AbortController();
  #queue: EventWrite[] = [];
  #lastNanos = 0n;
  #running: Promise<void> | undefined;

  constructor(options: EventQueueOptions) {
    this.#options = options;
  }

  /** Whether a further Event would be dropped. */
  get isFull(): boolean {
    return this.#abort.signal.aborted || this.#queue.length >= MAX_QUEUE;
  }

  push(write: EventWrite): void {
    if (this.isFull) return;
    this.#queue.push(write);
    this.#running ??= this.#drain();
  }

  /** The name of a new Event, made from the object's name and the time as in Kubernetes. Never returns a name twice. */
  newName(about: ObjectReference, at: Instant): string {
    const nanos = BigInt(at) * 1_000_000n + BigInt(Math.floor(this.#options.random() * 1_000_000));
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return `${about.name ?? ''}.${this.#lastNanos.toString(16)}`;
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
    for (let tries = 0; this.#queue.length > 0; ) {
      // While the API is unreachable, only one Event is attempted, so an outage does not use up the attempts of the others.
      const batch = tries === 0 ? this.#batch() : this.#queue.slice(0, 1);
      const left = await this.#attempt(batch);
      if (left.length === 0) tries = 0;
      else if (await this.#mayTryAgain(++tries)) continue;
      else {
        const dropped = this.#hurry.signal.aborted ? left : left.slice(0, 1);
        this.#remove(dropped);
        const reasons = dropped.map(({ event }) => event.reason);
        this.#options.log.debug({ events: reasons }, 'Events were not written: the API cannot be reached');
        tries = 0;
      }
    }
    this.#running = undefined;
  }

  /** The next writes, each to an Event of its own. */
  #batch(): readonly EventWrite[] {
    const batch = new Map<string, EventWrite>();
    for (const write of this.#queue) {
      const { namespace = '', name = '' } = write.event.metadata;
      if (batch.size === MAX_BATCH) break;
      if (!batch.has(`${namespace}/${name}`)) batch.set(`${namespace}/${name}`, write);
    }
    return [...batch.values()];
  }

  /** Removes written and rejected Events from the queue. Returns the others in order: the API may accept them later. Never rejects. */
  async #attempt(batch: readonly EventWrite[]): Promise<readonly EventWrite[]> {
    const results = await Promise.all(batch.map((write) => this.#isTaken(write)));
    this.#remove(batch.filter((_, index) => results[index]));
    return batch.filter((_, index) => !results[index]);
  }

  /** Whether an Event is finished: written, or rejected by the API. */
  async #isTaken(write: EventWrite): Promise<boolean> {
    try {
      await this.#write(write);
    } catch (error) {
      if (isUnreachable(error)) return false;
      const { reason, message } = write.event;
      this.#options.log.debug({ event: reason, message, reason: errorMessage(error) }, 'an Event was not written');
    }
    return true;
  }

  #remove(writes: readonly EventWrite[]): void {
    this.#queue = this.#queue.filter((write) => !writes.includes(write));
  }

  /** Waits before the next attempt. Returns false when there are no attempts left. */
  async #mayTryAgain(tries: number): Promise<boolean> {
    const { clock, random } = this.#options;
    const { signal } = this.#hurry;
    if (signal.aborted || tries >= MAX_TRIES) return false;
    await pause(clock, tries === 1 ? RETRY_MS * random() : RETRY_MS, signal);
    return true;
  }

  /** Creates the Event again if it has expired since it was first written. */
  async #write({ event, change }: EventWrite): Promise<void> {
    const { client } = this.#options;
    const { signal } = this.#abort;
    if (change !== undefined) {
      const { namespace = '', name = '' } = event.metadata;
      const patched = await ignoreNotFound(client.patch(EVENTS, { namespace, name }, { strategic: change }, signal));
      if (patched !== undefined) return;
    }
    await client.create(EVENTS, event, signal);
  }
}

function isUnreachable(error: unknown): boolean {
  return !(error instanceof StatusError) || UNREACHABLE.includes(error.reason);
}

/** The reference of an Event to its object. */
export function referenceTo(about: KubeObject, fieldPath?: string): ObjectReference {
  const { namespace, name, uid, resourceVersion } = about.metadata;
  return { kind: about.kind, namespace, name, uid, apiVersion: about.apiVersion, resourceVersion, fieldPath };
}
