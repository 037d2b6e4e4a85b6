import { apiVersionOf, type KubeObject } from '@gantry/objects';
import { decodeBody } from '../objects/decode-body.ts';
import { PostedObject } from '../drafts/posted-object.ts';
import { checkNamespace } from '../objects/metadata.ts';
import type { Body } from '../contract/registry.ts';
import type { WriteVerb } from '../writing/write.ts';

/** POST of an access review or a token review, which is not stored. */
export const review: WriteVerb<Body, KubeObject> = {
  right: 'create',
  startsFrom: 'not-stored',
  decode: async (request, body) => {
    const sent = await decodeBody(request, body);
    checkNamespace(request.target, sent.metadata);
    return { sent };
  },
  draft: (parts, attempt) => {
    const { context, target, sent } = attempt;
    const { definition } = target;
    return new PostedObject(parts, attempt, {
      object: sent,
      respond: async () => {
        await parts.deps.reviewer.review(definition, sent, context);
        sent.apiVersion = apiVersionOf(definition);
        sent.kind = definition.kind;
        return sent;
      },
    });
  },
};
