import { apiVersionOf, type KubeObject } from '@gantry/objects';
import { type PatchBytes, patched } from '../objects/decode-body.ts';
import { ChangedObject } from '../drafts/changed-object.ts';
import { checkName, checkNamespace } from '../objects/metadata.ts';
import { checkUpdatePreconditions, namedVersion, requireVersion } from '../objects/preconditions.ts';
import type { Patch, Target } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';

interface SentPatch extends PatchBytes {
  /** The warnings so far. Repeated attempts send each warning once. */
  readonly warned: Set<string>;
}

/** PATCH of an object or a subresource, with all types of patches except apply. */
export const patch: WriteVerb<Patch, SentPatch> = {
  right: 'patch',
  startsFrom: 'stored',
  decode: async (_request, { type, read }) => ({ sent: { type, bytes: await read(), warned: new Set() } }),
  draft: (parts, attempt) => {
    const { context, target, stored, sent } = attempt;
    if (stored === undefined) return undefined;
    const { object, warnings } = patched(stored.object, sent, attempt);
    for (const warning of warnings) {
      if (!sent.warned.has(warning)) context.warn(warning);
      sent.warned.add(warning);
    }
    checkPatched(target, object, stored.object);
    requireVersion(attempt, object);
    return new ChangedObject(parts, attempt, { stored, object, managers: 'unrecorded' });
  },
};

/** Throws when a patch changes the identity of the object, or sets another resourceVersion than the stored one. */
export function checkPatched(target: Target, object: KubeObject, stored: KubeObject): void {
  const { definition } = target;
  checkName(target, object.metadata);
  checkNamespace(target, object.metadata);
  object.apiVersion = apiVersionOf(definition);
  object.kind = definition.kind;
  checkUpdatePreconditions(stored, definition, { resourceVersion: namedVersion(object.metadata) });
}
