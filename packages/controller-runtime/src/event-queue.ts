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

/** An Event to create, or one that exists and the strategic merge patch of what has changed in it. */
export interface EventWrite {
  readonly event: Event;
  readonly change?: object;
}

const MAX_QUEUE = 1000;
/** Events that are written at a time: an API server commits what comes together as one. */
const MAX_BATCH = 16;
/** How often an Event is tried while the API cannot be reached, and the pause between, as in Kubernetes; the first is shorter. */
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const UNREACHABLE: readonly string[] = ['ServiceUnavailable', 'Timeout', 'ServerTimeout', 'TooManyRequests'];

/**
 * Writes Events in the background, those that are there together, but what is written to one Event in its order. What the API refuses is
 * dropped, and so is what is too much.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  readonly #abort = new AbortController();
  /** Ends pauses between tries: what cannot be written now is dropped. */
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

  /** The name of a new Event, as Kubernetes makes it from the object and the time. Never the same twice. */
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
      // While the API cannot be reached, one at a time is tried: an outage costs the others none of their tries.
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

  /** Takes from the queue what is written now or refused, and returns what the API may take later, in its order. Never rejects. */
  async #attempt(batch: readonly EventWrite[]): Promise<readonly EventWrite[]> {
    const results = await Promise.all(batch.map((write) => this.#isTaken(write)));
    this.#remove(batch.filter((_, index) => results[index]));
    return batch.filter((_, index) => !results[index]);
  }

  /** Whether an Event is written or refused: there is nothing left to do about it. */
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

  /** Waits before another try of an Event that the API may take later. */
  async #mayTryAgain(tries: number): Promise<boolean> {
    const { clock, random } = this.#options;
    const { signal } = this.#hurry;
    if (signal.aborted || tries >= MAX_TRIES) return false;
    await pause(clock, tries === 1 ? RETRY_MS * random() : RETRY_MS, signal);
    return true;
  }

  /** An Event that has expired since it was made is made again as it is now. */
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
