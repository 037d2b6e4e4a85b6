import { type Event, EVENTS, type KubeObject, type ObjectReference } from '@gantry/objects';
import { type Clock, errorMessage, formatTime, type Instant, type Random } from '@gantry/base';
import { ignoreNotFound, type ObjectWriter } from '@gantry/client';
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

interface Pending {
  readonly about: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly at: Instant;
}

/** An Event as it was last written. */
interface Written {
  readonly namespace: string;
  readonly name: string;
  count: number;
}

interface Bucket {
  tokens: number;
  at: Instant;
}

/** Per source and object: a burst of 25, then one in five minutes, as in Kubernetes. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Different messages of one reason about one object, within ten minutes, before they are combined into one. */
const SIMILAR_LIMIT = 10;
const SIMILAR_MS = 600_000;
const MAX_QUEUE = 1000;
const MAX_REMEMBERED = 4096;

/** Writes Events the way Kubernetes' recorder does. */
export function createEventRecorder(options: EventRecorderOptions): EventWriter {
  return new QueuedEventWriter(options);
}

class QueuedEventWriter implements EventWriter {
  readonly #options: EventRecorderOptions;
  readonly #written = new Map<string, Written>();
  readonly #similar = new Map<string, { messages: Set<string>; since: Instant }>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #abort = new AbortController();
  #queue: Pending[] = [];
  #lastNanos = 0n;
  #running: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void {
    if (this.#abort.signal.aborted || this.#queue.length >= MAX_QUEUE) return;
    const at = this.#options.clock.now();
    const reference = referenceTo(about, fieldPath);
    if (!this.#allow(reference, at)) return;
    this.#queue.push({
      about: reference,
      type,
      reason,
      message: this.#combine(reference, type, reason, message, at),
      at,
    });
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
    });
  }

  async flush(signal: AbortSignal): Promise<void> {
    const close = () => this.close();
    if (signal.aborted) close();
    else signal.addEventListener('abort', close, { once: true });
    await this.#running;
    signal.removeEventListener('abort', close);
  }

  close(): void {
    this.#queue = [];
    this.#abort.abort();
  }

  async #drain(): Promise<void> {
    for (;;) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      try {
        await this.#write(next);
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        const { reason, message } = next;
        this.#options.log.debug({ event: reason, message, reason: errorMessage(error) }, 'an Event was not written');
      }
    }
  }

  async #write(pending: Pending): Promise<void> {
    const id = identityOf(pending);
    const known = this.#written.get(id);
    if (known !== undefined && (await this.#repeat(known, pending))) return;
    const event = this.#compose(pending);
    const namespace = event.metadata.namespace ?? '';
    await this.#options.client.create(EVENTS, event, this.#abort.signal);
    remember(this.#written, id, { namespace, name: event.metadata.name ?? '', count: 1 });
  }

  /** False when the Event no longer exists and must be created again. */
  async #repeat(known: Written, pending: Pending): Promise<boolean> {
    const count = known.count + 1;
    const { namespace, name } = known;
    const change = { count, lastTimestamp: formatTime(pending.at), message: pending.message };
    const { client } = this.#options;
    const patched = await ignoreNotFound(
      client.patch(EVENTS, { namespace, name }, { strategic: change }, this.#abort.signal),
    );
    if (patched === undefined) return false;
    known.count = count;
    return true;
  }

  #compose({ about, type, reason, message, at }: Pending): Event {
    const { component, host, random } = this.#options;
    const nanos = BigInt(at) * 1_000_000n + BigInt(Math.floor(random() * 1_000_000));
    // Two Events about one object at the same moment have different names.
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    const hex = this.#lastNanos.toString(16);
    const time = formatTime(at);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${about.name ?? ''}.${hex}`, namespace: about.namespace ?? 'default' },
      involvedObject: about,
      reason,
      message,
      source: { component, ...(host === undefined ? {} : { host }) },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type,
      reportingComponent: component,
      reportingInstance: host ?? '',
    };
  }

  #allow(about: ObjectReference, at: Instant): boolean {
    const id = `${about.kind ?? ''}/${about.namespace ?? ''}/${about.name ?? ''}/${about.uid ?? ''}`;
    const bucket = this.#buckets.get(id) ?? { tokens: BURST, at };
    bucket.tokens = Math.min(BURST, bucket.tokens + (at - bucket.at) / REFILL_MS);
    bucket.at = at;
    remember(this.#buckets, id, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  #combine(about: ObjectReference, type: string, reason: string, message: string, at: Instant): string {
    const id = [about.kind, about.namespace, about.name, about.uid, type, reason].join('\n');
    const known = this.#similar.get(id);
    const group =
      known === undefined || at - known.since > SIMILAR_MS ? { messages: new Set<string>(), since: at } : known;
    group.messages.add(message);
    remember(this.#similar, id, group);
    return group.messages.size >= SIMILAR_LIMIT ? `(combined from similar events): ${message}` : message;
  }
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

function identityOf({ about, type, reason, message }: Pending): string {
  const text = message.startsWith('(combined from similar events)') ? '(combined)' : message;
  return [
    about.kind,
    about.namespace,
    about.name,
    about.uid,
    about.apiVersion,
    about.fieldPath,
    type,
    reason,
    text,
  ].join('\n');
}

/** Sets, forgetting the oldest of too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
