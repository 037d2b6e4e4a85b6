import type { Instant } from '@gantry/base';
import type { ObjectReference } from '@gantry/objects';

/** An occurrence at an object, as a component reported it. */
export interface ReportedEvent {
  readonly about: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The Event to write for a report: a new one, or an existing one with a higher count. */
export interface CorrelatedEvent {
  /** `(combined from similar events): …` if many reports differ only in their message. */
  readonly message: string;
  readonly count: number;
  readonly first: Instant;
  /** Name of the Event. */
  readonly name: string;
}

interface Logged {
  readonly name: string;
  readonly count: number;
  readonly first: Instant;
}

interface Similar {
  readonly messages: Set<string>;
  last: Instant;
}

interface Bucket {
  tokens: number;
  at: Instant;
}

/** Limits per object and type: a burst of 25 Events, then one per five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
/**
 * Reports with the same reason about one object are combined from the tenth different message on. A gap of more than ten minutes starts a
 * new count.
 */
const SIMILAR_LIMIT = 10;
const SIMILAR_MS = 600_000;
const MAX_REMEMBERED = 4096;

/**
 * Combines, counts and limits the Events of one source, with the rules and numbers of Kubernetes' EventCorrelator. Similar reports are
 * combined into one Event, equal reports increase its count, and reports beyond the rate limit of an object are dropped. Dropped reports
 * are counted too, so the next written Event has the full count.
 */
export class EventCorrelator {
  readonly #newName: (about: ObjectReference, at: Instant) => string;
  readonly #similar = new Map<string, Similar>();
  readonly #log = new Map<string, Logged>();
  readonly #buckets = new Map<string, Bucket>();

  constructor(newName: (about: ObjectReference, at: Instant) => string) {
    this.#newName = newName;
  }

  /** The Event to write; undefined when there are too many about the object. */
  correlate(event: ReportedEvent, at: Instant): CorrelatedEvent | undefined {
    const { key, message } = this.#aggregate(event, at);
    const known = this.#log.get(key);
    const logged: Logged =
      known === undefined
        ? { name: this.#newName(event.about, at), count: 1, first: at }
        : { ...known, count: known.count + 1 };
    remember(this.#log, key, logged);
    return this.#passes(event, at) ? { ...logged, message } : undefined;
  }

  /** Combined reports share a key, so that each one replaces the message of the previous one. */
  #aggregate(event: ReportedEvent, at: Instant): { readonly key: string; readonly message: string } {
    const { about, reason, message } = event;
    const group = [...objectKey(event), reason].join('\n');
    const known = this.#similar.get(group);
    const similar =
      known === undefined || at - known.last > SIMILAR_MS ? { messages: new Set<string>(), last: at } : known;
    similar.messages.add(message);
    similar.last = at;
    remember(this.#similar, group, similar);
    if (similar.messages.size < SIMILAR_LIMIT) return { key: [group, about.fieldPath, message].join('\n'), message };
    const [oldest] = similar.messages;
    if (oldest !== undefined) similar.messages.delete(oldest);
    return { key: group, message: `(combined from similar events): ${message}` };
  }

  #passes(event: ReportedEvent, at: Instant): boolean {
    const key = objectKey(event).join('\n');
    const bucket = this.#buckets.get(key) ?? { tokens: BURST, at };
    bucket.tokens = Math.min(BURST, bucket.tokens + Math.max(0, at - bucket.at) / REFILL_MS);
    bucket.at = at;
    remember(this.#buckets, key, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}

function objectKey({ about, type }: ReportedEvent): string[] {
  const { kind = '', namespace = '', name = '', uid = '', apiVersion = '' } = about;
  return [kind, namespace, name, uid, apiVersion, type];
}

/** Sets an entry. Removes the least recently set entry when the map is full. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
