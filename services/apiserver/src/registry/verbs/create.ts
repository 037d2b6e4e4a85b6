import { separateShares } from '@gantry/apimachinery';
import { decodeSent, type SentObject } from '../objects/decode-body.ts';
import { generatesName, NewObject } from '../drafts/new-object.ts';
import { checkName, checkNamespace } from '../objects/metadata.ts';
import type { Body } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';

/** POST of an object that is stored. */
export const create: WriteVerb<Body, SentObject> = {
  right: 'create',
  startsFrom: 'nothing',
  decode: async (request, body) => {
    const sent = await decodeSent(request, body);
    const { metadata } = sent.object;
    // Over gRPC the request names what it creates, and that name was authorised.
    if (request.target.name !== '') checkName(request.target, metadata);
    checkNamespace(request.target, metadata);
    return { sent };
  },
  draft: (parts, attempt) => {
    // It may be attempted again: with another name, other claims, or another charge of a quota. As in Kubernetes, only an object whose
    // name is generated shares nothing between its fields: a Job has its template's labels by default, and those that are added to them.
    const object = attempt.sent.take();
    // An object that was decoded again has the namespace that was sent, which may be none.
    checkNamespace(attempt.target, object.metadata);
    if (generatesName(object)) separateShares(object);
    return new NewObject(parts, attempt, { object, managers: 'unrecorded', version: 'refused' });
  },
};
