import { formatTime, type Instant } from '@gantry/base';
import type { Event, KubeObject } from '@gantry/objects';
import { type CorrelatedEvent, EventCorrelator, type ReportedEvent } from './event-correlator.ts';
import { EventQueue, type EventQueueOptions, referenceTo } from './event-queue.ts';
import type { EventRecorder } from './event-recorder.ts';

export interface EventRecorderOptions extends EventQueueOptions {
  /** `source.component` of the Events. */
  readonly component: string;
  /** `source.host`, for components of a node. */
  readonly host?: string;
}

/** A recorder that queues Events and writes them in the background. */
export interface EventWriter extends EventRecorder {
  /**
   * Resolves when everything recorded so far has been written or dropped. Events that the API cannot accept now are not attempted again.
   */
  flush(signal: AbortSignal): Promise<void>;
  /** Drops queued Events and accepts no more. */
  close(): void;
}

/** Writes Events the way Kubernetes' recorder does. */
export function createEventRecorder(options: EventRecorderOptions): EventWriter {
  const queue = new EventQueue(options);
  const correlator = new EventCorrelator((about, at) => queue.newName(about, at));
  const event = (
    about: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    fieldPath?: string,
  ): void => {
    if (queue.isFull) return;
    const at = options.clock.now();
    const reported: ReportedEvent = { about: referenceTo(about, fieldPath), type, reason, message };
    const correlated = correlator.correlate(reported, at);
    if (correlated === undefined) return;
    const composed = compose(options, reported, correlated, at);
    const { count, lastTimestamp } = composed;
    const change = { count, lastTimestamp, message: correlated.message };
    queue.push({ event: composed, ...(correlated.count === 1 ? {} : { change }) });
  };
  return { event, flush: (signal) => queue.flush(signal), close: () => queue.close() };
}

function compose(
  { component, host }: EventRecorderOptions,
  { about, type, reason }: ReportedEvent,
  { name, message, count, first }: CorrelatedEvent,
  at: Instant,
): Event {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: about.namespace ?? 'default' },
    involvedObject: about,
    reason,
    message,
    source: { component, host },
    firstTimestamp: formatTime(first),
    lastTimestamp: formatTime(at),
    count,
    type,
    reportingComponent: component,
    reportingInstance: host ?? '',
  };
}
