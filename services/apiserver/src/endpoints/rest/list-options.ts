import { type FieldError, forbidden, notSupported } from '@gantry/objects';
import { parseBoolean, parseInt64 } from '../../http/query.ts';
import type { ListRequest, WatchRequest } from '../../registry/index.ts';

/** What a list or a watch asks, as the query says it; not yet checked. */
export interface ListOptions extends ListRequest {
  readonly watch: boolean;
  readonly allowBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** Reads metav1.ListOptions, with Kubernetes' defaults. */
export function parseListOptions(query: URLSearchParams): ListOptions {
  const match = query.get('resourceVersionMatch') ?? '';
  const limit = parseInt64(query, 'limit') ?? 0;
  const options = withDefaults({
    namespace: '',
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: match as ListRequest['resourceVersionMatch'],
    limit: Math.max(0, limit),
    continueToken: query.get('continue') ?? '',
    watch: parseBoolean(query, 'watch') ?? false,
    allowBookmarks: parseBoolean(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents: parseBoolean(query, 'sendInitialEvents'),
    timeoutSeconds: parseInt64(query, 'timeoutSeconds'),
  });
  return { ...options, faults: options.watch ? watchErrors(options) : listErrors(options) };
}

/** A watch that names no version begins with everything that exists, as if it had asked for that. */
function withDefaults(options: ListOptions): ListOptions {
  const { watch, sendInitialEvents, resourceVersion, resourceVersionMatch } = options;
  const unsaid = sendInitialEvents === undefined && resourceVersionMatch === '';
  if (!watch || !unsaid || (resourceVersion !== '' && resourceVersion !== '0')) return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

const MATCH = 'resourceVersionMatch';

/**
 * Where list options contradict each other, in Kubernetes' words. A watch by a path of its own (`/watch/`) whose query does not
 * say so is held to these rules too.
 */
function listErrors(options: ListOptions): readonly FieldError[] {
  const match: string = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (options.resourceVersion === '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    if (options.continueToken !== '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      const detail = 'supported values: "Exact", "NotOlderThan", ""';
      errors.push({ type: 'FieldValueNotSupported', field: MATCH, value: match, detail });
    }
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function watchErrors(options: ListOptions): readonly FieldError[] {
  const match: string = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match === '') return errors;
  if (options.sendInitialEvents === undefined) {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
  }
  if (match !== 'NotOlderThan') errors.push(notSupported(MATCH, match, ['NotOlderThan']));
  if (options.continueToken !== '') {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}

/** The part of list options that a watch uses. */
export function watchRequestOf(options: ListOptions): WatchRequest {
  const { namespace, labelSelector, fieldSelector, resourceVersion, resourceVersionMatch } = options;
  const { sendInitialEvents, allowBookmarks, faults = [] } = options;
  return {
    namespace,
    labelSelector,
    fieldSelector,
    resourceVersion,
    resourceVersionMatch,
    sendInitialEvents,
    allowBookmarks,
    faults,
  };
}
