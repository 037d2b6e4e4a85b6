import { type FieldError, forbidden, notSupported } from '@gantry/objects';
import { parseBoolean, parseInt64 } from '../../http/query.ts';
import type { ListRequest, WatchRequest } from '../../registry/index.ts';

/** The options of a list or watch from the query, not validated. */
export interface ListOptions extends ListRequest {
  readonly watch: boolean;
  readonly allowBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** Parses metav1.ListOptions and sets Kubernetes' defaults. */
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

/** A watch without a version starts with all existing objects, as with sendInitialEvents. */
function withDefaults(options: ListOptions): ListOptions {
  const { watch, sendInitialEvents, resourceVersion, resourceVersionMatch } = options;
  const unsaid = sendInitialEvents === undefined && resourceVersionMatch === '';
  if (!watch || !unsaid || (resourceVersion !== '' && resourceVersion !== '0')) return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

const MATCH = 'resourceVersionMatch';

/**
 * The errors of options that contradict each other, with Kubernetes' messages. The rules also apply to a watch by an old path (`/watch/`)
 * whose query has no `watch`.
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

/** The list options that a watch uses. */
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
