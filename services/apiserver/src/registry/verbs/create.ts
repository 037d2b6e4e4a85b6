import { separateShares } from '@gantry/apimachinery';
import { decodeSent, type SentObject } from '../objects/decode-body.ts';
import { generatesName, NewObject } from '../drafts/new-object.ts';
import { checkName, checkNamespace } from '../objects/metadata.ts';
import type { Body } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';

/** POST of a stored object. */
export const create: WriteVerb<Body, SentObject> = {
  right: 'create',
  startsFrom: 'nothing',
  decode: async (request, body) => {
    const sent = await decodeSent(request, body);
    const { metadata } = sent.object;
    // Over gRPC, the request has the name of the new object, and that name was authorised.
    if (request.target.name !== '') checkName(request.target, metadata);
    checkNamespace(request.target, metadata);
    return { sent };
  },
  draft: (parts, attempt) => {
    // There may be further attempts, with another name, other claims, or another quota charge. Fields may share values: by default, a Job
    // has the labels of its template, and a label that is added to the template is in both. As in Kubernetes, only objects with
    // generated names do not share values.
    const object = attempt.sent.take();
    // An object that was decoded again has the namespace of the body, which may be empty.
    checkNamespace(attempt.target, object.metadata);
    if (generatesName(object)) separateShares(object);
    return new NewObject(parts, attempt, { object, managers: 'unrecorded', version: 'refused' });
  },
};
