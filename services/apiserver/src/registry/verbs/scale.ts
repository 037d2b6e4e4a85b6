import type { Instant } from '@gantry/base';
import { type KubeObject, StatusError } from '@gantry/objects';
import { replaceContent } from '../../admission/index.ts';
import { Application, changeScale } from './application.ts';
import { decodeKind, patchedScale } from '../objects/decode-body.ts';
import { ChangedObject } from '../drafts/changed-object.ts';
import { checkName, checkNamespace } from '../objects/metadata.ts';
import { checkUpdatePreconditions, namedVersion, requireVersion } from '../objects/preconditions.ts';
import type { Body, Patch, WriteRequest } from '../contract/registry.ts';
import { responseOf } from '../objects/response-of.ts';
import { SCALE_SCHEMA, type ScalePaths, scaleOf, withScale } from '../subresources/scale.ts';
import type { WriteVerb } from '../writing/write.ts';

interface SentScale {
  /** Makes the new Scale from the current one. */
  readonly change: (scale: KubeObject, now: Instant) => KubeObject;
  /** Whether `change` records the field managers. */
  readonly recorded: boolean;
  readonly warnings: () => readonly string[];
}

/** The common part of PUT, PATCH and apply of a Scale: admission checks the Scale, and the object gets its replicas. */
const scale: Pick<WriteVerb<never, SentScale>, 'startsFrom' | 'draft' | 'respond'> = {
  startsFrom: 'stored',
  draft: (parts, attempt) => {
    const { stored, sent, target, options, now } = attempt;
    if (stored === undefined) return undefined;
    const { definition } = target;
    const paths = pathsOf(attempt);
    const { object, scale: changed } = changeScale(stored.object, definition, {
      paths,
      change: (live) => sent.change(live, now),
      recorded: sent.recorded,
      manager: options.fieldManager,
      now,
    });
    const { uid, resourceVersion = '' } = changed.metadata;
    checkUpdatePreconditions(stored.object, definition, { uid, resourceVersion: namedVersion(changed.metadata) });
    // A Scale without a resourceVersion has that of its object.
    if (resourceVersion !== '') requireVersion({ ...attempt, subresource: undefined }, changed);
    const view = {
      operation: 'update',
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      of: (whole: KubeObject) => scaleOf(whole, paths),
      old: scaleOf(stored.object, paths),
      put: (whole: KubeObject, shown: KubeObject) => replaceContent(whole, withScale(whole, shown, paths)),
    } as const;
    return new ChangedObject(parts, attempt, { stored, object, managers: 'recorded', view });
  },
  respond: ({ object }, write) => {
    for (const warning of write.sent.warnings()) write.context.warn(warning);
    return responseOf(scaleOf(object, pathsOf(write)));
  },
};

/** PUT of a Scale. */
export const updateScale: WriteVerb<Body, SentScale> = {
  ...scale,
  right: 'update',
  decode: async (request, body) => {
    const sent = await decodeKind(request, body, SCALE_SCHEMA);
    checkName(request.target, sent.metadata);
    checkNamespace(request.target, sent.metadata);
    return { sent: { change: () => sent, recorded: false, warnings: () => [] } };
  },
};

/** PATCH of a Scale. */
export const patchScale: WriteVerb<Patch, SentScale> = {
  ...scale,
  right: 'patch',
  decode: async (request, { type, read }) => {
    const sent = { type, bytes: await read() };
    const change = (live: KubeObject) => patchedScale(live, sent, { request, schema: SCALE_SCHEMA });
    return { sent: { change, recorded: false, warnings: () => [] } };
  },
};

/** Server-side apply of a Scale. */
export const applyScale: WriteVerb<Patch, SentScale> = {
  ...scale,
  right: 'patch',
  decode: async ({ target, options }, { read }) => {
    const application = new Application(target, await read(), options);
    const change = (live: KubeObject, now: Instant) => application.toScale(live, now);
    return { sent: { change, recorded: true, warnings: () => application.warnings } };
  },
};

function pathsOf({ subresource }: WriteRequest): ScalePaths {
  if (subresource?.scale !== undefined) return subresource.scale;
  throw StatusError.internal('the subresource has no Scale');
}
