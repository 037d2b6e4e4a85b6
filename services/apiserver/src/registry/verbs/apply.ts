import { Application } from './application.ts';
import { ChangedObject } from '../drafts/changed-object.ts';
import { NewObject } from '../drafts/new-object.ts';
import { checkName, checkNamespace } from '../objects/metadata.ts';
import { requireVersion } from '../objects/preconditions.ts';
import type { Patch } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';
import { checkPatched } from './patch.ts';

/** Server-side apply. It records the field managers itself, and creates a missing object. */
export const apply: WriteVerb<Patch, Application> = {
  right: 'patch',
  startsFrom: 'stored',
  decode: async ({ target, options }, { read }) => ({ sent: new Application(target, await read(), options) }),
  draft: async (parts, attempt) => {
    const { stored, sent, target, now } = attempt;
    if (stored !== undefined) {
      const object = await sent.to(stored.object, now);
      const { resourceVersion = '' } = object.metadata;
      checkPatched(target, object, stored.object);
      if (resourceVersion !== '') requireVersion(attempt, object);
      return new ChangedObject(parts, attempt, { stored, object, managers: 'recorded' });
    }
    if (attempt.subresource !== undefined) return undefined;
    const object = await sent.to(undefined, now);
    checkNamespace(target, object.metadata);
    checkName(target, object.metadata);
    delete object.metadata.resourceVersion;
    return new NewObject(parts, attempt, { object, managers: 'recorded' });
  },
  respond: (response, { context, sent }) => {
    for (const warning of sent.warnings) context.warn(warning);
    return response;
  },
};
