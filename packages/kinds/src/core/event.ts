import { append } from '@gantry/base';
import type { Instant } from '@gantry/base';
import {
  EVENTS,
  type Event,
  type FieldError,
  dns1123Subdomain,
  invalid,
  pathSegment,
  qualifiedName,
  required,
} from '@gantry/objects';
import {
  describedAs,
  type Column,
  column,
  defineResource,
  formatAge,
  invalidAll,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';

/**
 * Checks an event. Events of the old form have no eventTime, and little more than their namespace is checked. `controllerField` is the
 * group's name for the reporting controller.
 */
export function validateEvent(
  object: Event,
  controllerField: 'reportingComponent' | 'reportingController' = 'reportingComponent',
): FieldError[] {
  const errors: FieldError[] = [];
  const namespace = object.metadata.namespace ?? '';
  const about = object.involvedObject?.namespace ?? '';
  const mismatch = invalid('involvedObject.namespace', about, 'does not match event.namespace');
  if (isSet(object.eventTime)) {
    if (about === '' && namespace !== 'default' && namespace !== 'kube-system') errors.push(mismatch);
    append(errors, validateReport(object, controllerField));
  } else if (about === '' ? namespace !== '' && namespace !== 'default' : about !== namespace) {
    errors.push(mismatch);
  }
  append(errors, invalidAll('namespace', namespace, dns1123Subdomain(namespace)));
  return errors;
}

function validateReport(object: Event, controllerField: string): FieldError[] {
  const errors: FieldError[] = [];
  const controller = object.reportingComponent ?? '';
  if (controller === '') errors.push(required(controllerField));
  append(errors, invalidAll(controllerField, controller, qualifiedName(controller)));
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    const text = object[field] ?? '';
    if (text === '') errors.push(required(field));
    if (text.length > 128) errors.push(invalid(field, '', 'can have at most 128 characters'));
  }
  if ((object.message ?? '').length > 1024) errors.push(invalid('message', '', 'can have at most 1024 characters'));
  return errors;
}

export function isSet(time: string | null | undefined): time is string {
  return time !== undefined && time !== null && time !== '';
}

function firstSeen(object: Event, now: Instant): string {
  return formatAge(isSet(object.firstTimestamp) ? object.firstTimestamp : (object.eventTime ?? undefined), now);
}

function lastSeen(object: Event, now: Instant): string {
  if (object.series !== undefined) return formatAge(object.series.lastObservedTime, now);
  return isSet(object.lastTimestamp) ? formatAge(object.lastTimestamp, now) : firstSeen(object, now);
}

function source(object: Event): string {
  const component = object.source?.component ?? '';
  const host = object.source?.host ?? '';
  const who = component === '' ? (object.reportingComponent ?? '') : component;
  const where = host === '' ? (object.reportingInstance ?? '') : host;
  return where === '' ? who : `${who}, ${where}`;
}

function target({ involvedObject }: Event): string {
  const kind = (involvedObject?.kind ?? '').toLowerCase();
  return (involvedObject?.name ?? '') === '' ? kind : `${kind}/${involvedObject.name}`;
}

/** The columns of both groups: events.k8s.io shows what is stored. */
export const eventColumns: readonly Column<Event>[] = [
  column('Last Seen', describedAs('core.v1.Event', 'lastTimestamp'), lastSeen),
  fieldColumn('Type', 'core.v1.Event', 'type'),
  fieldColumn('Reason', 'core.v1.Event', 'reason'),
  column('Object', 'The object that this event is about.', target),
  fieldColumn('Subobject', 'core.v1.ObjectReference', 'involvedObject.fieldPath', { wide: 'wide' }),
  column('Source', 'The component reporting this event. Should be a short machine understandable string.', source, {
    wide: 'wide',
  }),
  column('Message', describedAs('core.v1.Event', 'message'), (object) => (object.message ?? '').trim()),
  column('First Seen', describedAs('core.v1.Event', 'firstTimestamp'), firstSeen, { wide: 'wide' }),
  column(
    'Count',
    describedAs('core.v1.Event', 'count'),
    ({ series, count = 0 }) => (series === undefined ? (count === 0 ? 1 : count) : (series.count ?? 0)),
    { wide: 'wide' },
  ),
  { ...nameColumn, priority: 1 },
];

export const events = defineResource(EVENTS, {
  shortNames: ['ev'],
  schema: 'core.v1.Event',
  strategy: {
    validateName: (name, isPrefix) => pathSegment(name, isPrefix),
    finalizers: 'qualified',
    metadataOnUpdate: 'common',
    validate: (object) => validateEvent(object),
    allowCreateOnUpdate: true,
    defaultPropagation: 'unsupported',
  },
  columns: eventColumns,
  selectableFields: {
    'involvedObject.kind': (object) => object.involvedObject?.kind ?? '',
    'involvedObject.namespace': (object) => object.involvedObject?.namespace ?? '',
    'involvedObject.name': (object) => object.involvedObject?.name ?? '',
    'involvedObject.uid': (object) => object.involvedObject?.uid ?? '',
    'involvedObject.apiVersion': (object) => object.involvedObject?.apiVersion ?? '',
    'involvedObject.resourceVersion': (object) => object.involvedObject?.resourceVersion ?? '',
    'involvedObject.fieldPath': (object) => object.involvedObject?.fieldPath ?? '',
    reason: (object) => object.reason ?? '',
    reportingComponent: (object) => object.reportingComponent ?? '',
    source: (object) => (object.source?.component ?? '') || (object.reportingComponent ?? ''),
    type: (object) => object.type ?? '',
  },
});
