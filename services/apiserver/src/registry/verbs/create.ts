import { cloneWithShares } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { decodeBody } from '../objects/decode-body.ts';
import { generatesName, NewObject } from '../drafts/new-object.ts';
import { checkName, checkNamespace, copyOf } from '../objects/metadata.ts';
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
    return { sent };
  },
  draft: (parts, attempt) => {
    const { sent } = attempt;
    // It may be attempted again: with another name, other claims, or another charge of a quota. As in Kubernetes, only an object whose
    // name is generated shares nothing between its fields: a Job has its template's labels by default, and those that are added to them.
    const object = generatesName(sent) ? copyOf(sent) : cloneWithShares(sent);
    return new NewObject(parts, attempt, { object, managers: 'unrecorded', version: 'refused' });
  },
};
