import { type KubeObject, StatusError } from '@gantry/objects';
import { decodeBody } from '../objects/decode-body.ts';
import { generatesName, NewObject } from '../drafts/new-object.ts';
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
    const { sent } = attempt;
    // Only an object whose name is generated, or that needs claims, is attempted again.
    const isRepeatable = generatesName(sent) || parts.allocators.isClaimant(attempt.target.definition);
    return new NewObject(parts, attempt, { object: isRepeatable ? copyOf(sent) : sent, managers: 'unrecorded' });
  },
};
