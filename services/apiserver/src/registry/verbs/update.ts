import { type KubeObject, StatusError } from '@gantry/objects';
import { decodeBody } from '../objects/decode-body.ts';
import { ChangedObject } from '../drafts/changed-object.ts';
import { NewObject } from '../drafts/new-object.ts';
import { checkName, checkNamespace, copyOf } from '../objects/metadata.ts';
import { checkUpdatePreconditions, namedVersion, requireVersion } from '../objects/preconditions.ts';
import type { Body } from '../contract/registry.ts';
import { groupResource } from '../contract/target.ts';
import type { Attempt, WriteVerb } from '../writing/write.ts';

/** PUT of an object or a subresource. For some kinds it creates a missing object. */
export const update: WriteVerb<Body, KubeObject> = {
  right: 'update',
  startsFrom: 'stored',
  decode: async (request, body) => {
    const sent = await decodeBody(request, body);
    checkName(request.target, sent.metadata);
    checkNamespace(request.target, sent.metadata);
    return { sent, seenVersion: namedVersion(sent.metadata) };
  },
  draft: (parts, attempt) => {
    const { stored, sent, target } = attempt;
    if (stored === undefined) {
      if (!createsMissing(attempt)) return undefined;
      return new NewObject(parts, attempt, { object: copyOf(sent), managers: 'unrecorded' });
    }
    const { uid } = sent.metadata;
    checkUpdatePreconditions(stored.object, target.definition, { uid, resourceVersion: namedVersion(sent.metadata) });
    requireVersion(attempt, sent);
    return new ChangedObject(parts, attempt, { stored, object: copyOf(sent), managers: 'unrecorded' });
  },
};

/** Whether the update creates a missing object. Throws Conflict when the client has a version of it, which means that it was deleted. */
function createsMissing({ target, subresource, sent }: Attempt<KubeObject>): boolean {
  const { definition, name } = target;
  if (definition.strategy.allowCreateOnUpdate !== true || subresource !== undefined) return false;
  const { uid = '' } = sent.metadata;
  if (uid !== '') {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: `;
    throw StatusError.conflict(groupResource(definition), name, why);
  }
  return namedVersion(sent.metadata) === '';
}
