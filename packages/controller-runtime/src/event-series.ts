import { type CancelTimer, formatMicroTime, type Instant } from '@gantry/base';
import type { Event, KubeObject, ObjectReference } from '@gantry/objects';
import { EventQueue, type EventQueueOptions, referenceTo } from './event-queue.ts';
import type { EventWriter } from './event-writer.ts';

export interface EventSeriesOptions extends EventQueueOptions {
  /** `reportingComponent` of the Events. */
  readonly component: string;
  /** `reportingInstance`: the process of that component. */
  readonly instance: string;
  /** The `action` of Events by reason: what the component did, or tried to do. */
  readonly actions: Readonly<Record<string, string>>;
}

interface Series {
  event: Event;
  seen: Instant;
  written: Instant;
}

/** A series ends when nothing was added for FINISH_MS. Its Event is written at least every REFRESH_MS so that it does not expire. */
const FINISH_MS = 6 * 60_000;
const REFRESH_MS = 30 * 60_000;
const MAX_REMEMBERED = 4096;
/** The API's limit for messages in this form. Kubernetes' scheduler shortens messages in the same way. */
const MAX_MESSAGE = 1024;
const CUT = ' ...';

/**
 * Writes Events as Kubernetes' scheduler does, in the form of `events.k8s.io`: with an action, and as a series when the same reason repeats
 * for the same version of an object, whatever the messages. The second occurrence begins the series. Further ones are counted, and written
 * when the series ends or after half an hour.
 */
export function createEventSeriesRecorder(options: EventSeriesOptions): EventWriter {
  return new SeriesWriter(options);
}

class SeriesWriter implements EventWriter {
  readonly #options: EventSeriesOptions;
  readonly #queue: EventQueue;
  readonly #series = new Map<string, Series>();
  #cancelTimer: CancelTimer | undefined;
  #isClosed = false;

  constructor(options: EventSeriesOptions) {
    this.#options = options;
    this.#queue = new EventQueue(options);
  }

  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void {
    if (this.#isClosed || this.#queue.isFull) return;
    const now = this.#options.clock.now();
    const reference = referenceTo(about, fieldPath);
    const key = JSON.stringify([reference, type, reason]);
    const known = this.#series.get(key);
    if (known === undefined) {
      const event = this.#compose(reference, { type, reason, message }, now);
      this.#remember(key, { event, seen: now, written: now });
      this.#queue.push({ event });
      return;
    }
    const count = (known.event.series?.count ?? 1) + 1;
    known.event = { ...known.event, series: { count, lastObservedTime: formatMicroTime(now) } };
    known.seen = now;
    if (count === 2) this.#write(known, now);
  }

  async flush(signal: AbortSignal): Promise<void> {
    await this.#queue.flush(signal);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#series.clear();
    this.#queue.close();
  }

  #compose(
    about: ObjectReference,
    { type, reason, message }: { readonly type: string; readonly reason: string; readonly message: string },
    now: Instant,
  ): Event {
    const { component, instance, actions } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: this.#queue.newName(about, now), namespace: about.namespace ?? 'default' },
      involvedObject: about,
      eventTime: formatMicroTime(now),
      reason,
      action: actions[reason] ?? reason,
      message: message.length <= MAX_MESSAGE ? message : message.slice(0, MAX_MESSAGE - CUT.length) + CUT,
      source: {},
      type,
      reportingComponent: component,
      reportingInstance: instance,
    };
  }

  #remember(key: string, series: Series): void {
    this.#series.set(key, series);
    if (this.#series.size > MAX_REMEMBERED) {
      const oldest = this.#series.keys().next().value;
      if (oldest !== undefined) this.#series.delete(oldest);
    }
    this.#cancelTimer ??= this.#options.clock.setTimer(FINISH_MS, () => this.#sweep());
  }

  #sweep(): void {
    const now = this.#options.clock.now();
    for (const [key, series] of this.#series) {
      const isOver = now - series.seen >= FINISH_MS;
      if (series.event.series !== undefined && (isOver || now - series.written >= REFRESH_MS)) this.#write(series, now);
      if (isOver) this.#series.delete(key);
    }
    this.#cancelTimer =
      this.#series.size === 0 ? undefined : this.#options.clock.setTimer(FINISH_MS, () => this.#sweep());
  }

  #write(series: Series, now: Instant): void {
    series.written = now;
    this.#queue.push({ event: series.event, change: { series: series.event.series } });
  }
}
