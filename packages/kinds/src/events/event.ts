import {
  EVENTS_EVENTS,
  type Event,
  type EventsEvent,
  type EventsEventSeries,
  type FieldError,
  type KubeObject,
  equalJson,
  invalid,
  required,
} from '@gantry/objects';
import { type Column, defineResource, immutable } from '@gantry/apimachinery';
import { eventColumns, isSet, validateEvent } from '../core/event.ts';

const RENAMED: readonly (readonly [keyof EventsEvent, keyof Event])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reportingController', 'reportingComponent'],
];

function rename(object: object, from: 0 | 1, head: object): Record<string, unknown> {
  const names = new Map<string, string>(RENAMED.map((pair) => [pair[from], pair[1 - from] ?? '']));
  const entries = Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value as unknown] as const);
  return { ...Object.fromEntries(entries), ...head };
}

/** The event as core/v1 has it. */
export function toCoreEvent(object: EventsEvent): Event {
  const event = rename(object, 0, { apiVersion: 'v1', kind: 'Event' });
  event['involvedObject'] ??= {};
  return event as Event;
}

/** Inverse of `toCoreEvent`. */
export function fromCoreEvent(stored: KubeObject): EventsEvent {
  const event = rename(stored, 1, { apiVersion: 'events.k8s.io/v1', kind: 'Event' }) as EventsEvent;
  // Always written in core/v1, but here only if not empty.
  if (event.reportingController === '') delete event.reportingController;
  if (event.reportingInstance === '') delete event.reportingInstance;
  return event;
}

function validateSeries(series: EventsEventSeries | undefined): FieldError[] {
  if (series === undefined) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < 2) errors.push(invalid('series.count', '', 'should be at least 2'));
  if (!isSet(series.lastObservedTime)) errors.push(required('series.lastObservedTime'));
  return errors;
}

/** New events must have the new form. */
function validateCreate(object: EventsEvent): FieldError[] {
  const { type = '', deprecatedSource: { component = '', host = '' } = {} } = object;
  const errors = validateSeries(object.series);
  const unset = (field: string, isGiven: boolean) => {
    if (isGiven) errors.push(invalid(field, '', 'needs to be unset'));
  };
  if (!isSet(object.eventTime)) errors.push(required('eventTime'));
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalid('type', '', `has invalid value: ${type}`));
  unset('firstTimestamp', isSet(object.deprecatedFirstTimestamp));
  unset('lastTimestamp', isSet(object.deprecatedLastTimestamp));
  unset('count', (object.deprecatedCount ?? 0) !== 0);
  unset('source', component !== '' || host !== '');
  return errors;
}

/** Only the series may change. */
function validateUpdate(object: EventsEvent, old: EventsEvent): FieldError[] {
  const errors = equalJson(object.series, old.series) ? [] : validateSeries(object.series);
  const fixed: readonly (readonly [string, keyof EventsEvent])[] = [
    ['involvedObject', 'regarding'],
    ['reason', 'reason'],
    ['message', 'note'],
    ['source', 'deprecatedSource'],
    ['firstTimestamp', 'deprecatedFirstTimestamp'],
    ['lastTimestamp', 'deprecatedLastTimestamp'],
    ['count', 'deprecatedCount'],
    ['reason', 'reason'],
    ['type', 'type'],
    ['eventTime', 'eventTime'],
    ['action', 'action'],
    ['related', 'related'],
    ['reportingController', 'reportingController'],
    ['reportingInstance', 'reportingInstance'],
  ];
  return [
    ...errors,
    ...fixed.flatMap(([field, key]) => immutable(field, object[key] ?? EMPTY[key], old[key] ?? EMPTY[key])),
  ];
}

/** The value that errors show for a removed field. */
const EMPTY: Partial<Record<keyof EventsEvent, unknown>> = {
  reason: '',
  note: '',
  type: '',
  action: '',
  reportingController: '',
  reportingInstance: '',
  deprecatedCount: 0,
  eventTime: null,
};

const columns: readonly Column<EventsEvent>[] = eventColumns.map((column) => ({
  ...column,
  value: (object, now) => column.value(toCoreEvent(object), now),
}));

export const eventsEvents = defineResource(EVENTS_EVENTS, {
  shortNames: ['ev'],
  schema: 'events.v1.Event',
  storage: { group: '', version: 'v1', resource: 'events', toStored: toCoreEvent, fromStored: fromCoreEvent },
  strategy: {
    metadataOnUpdate: 'change',
    validate: (object) => validateEvent(toCoreEvent(object), 'reportingController'),
    validateCreate,
    validateUpdate,
    allowCreateOnUpdate: true,
    defaultPropagation: 'unsupported',
  },
  columns,
  selectableFields: {
    reason: ({ reason }) => reason ?? '',
    'regarding.kind': ({ regarding }) => regarding?.kind ?? '',
    'regarding.namespace': ({ regarding }) => regarding?.namespace ?? '',
    'regarding.name': ({ regarding }) => regarding?.name ?? '',
    'regarding.uid': ({ regarding }) => regarding?.uid ?? '',
    'regarding.apiVersion': ({ regarding }) => regarding?.apiVersion ?? '',
    'regarding.resourceVersion': ({ regarding }) => regarding?.resourceVersion ?? '',
    'regarding.fieldPath': ({ regarding }) => regarding?.fieldPath ?? '',
    reportingController: ({ reportingController }) => reportingController ?? '',
    type: ({ type }) => type ?? '',
  },
});
