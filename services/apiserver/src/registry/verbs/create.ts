import { type KubeObject, StatusError } from '@gantry/objects';
import { decodeBody } from '../objects/decode-body.ts';
import { NewObject } from '../drafts/new-object.ts';
import { checkName, checkNamespace, copyOf } from '../objects/metadata.ts';
import { namedVersion } from '../objects/preconditions.ts';
import type { Body } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';

/** POST of an object that is stored. */
export const create: WriteVerb<Body, KubeObject> = {
  right: 'create',
  startsFrom: 'nothing',
  decode: async (request, body) => {
    const sent = await decodeBody(request, body);
    // Over gRPC the request names what it creates, and that name was authorised.
    if (request.target.name !== '') checkName(request.target, sent.metadata);
    checkNamespace(request.target, sent.metadata);
    // Kubernetes reads what is not a number as none here.
    if (/^\d+$/.test(namedVersion(sent.metadata)) && !request.options.dryRun) {
      throw StatusError.badRequest('resourceVersion should not be set on objects to be created');
    }
    return { sent };
  },
  draft: (parts, attempt) => {
    // It may be attempted again: with another name, other claims, or another charge of a quota.
    return new NewObject(parts, attempt, { object: copyOf(attempt.sent), managers: 'unrecorded' });
  },
};
