import type { KubeObject, ServiceAccount, TokenRequest } from '@gantry/objects';
import { decodeKind } from '../objects/decode-body.ts';
import { PostedObject } from '../drafts/posted-object.ts';
import type { Body } from '../contract/registry.ts';
import { accountMissing, issueToken, TOKEN_REQUEST_SCHEMA } from '../subresources/token-request.ts';
import type { WriteVerb } from '../writing/write.ts';

/** POST of a TokenRequest for a service account. */
export const requestToken: WriteVerb<Body, TokenRequest & KubeObject> = {
  right: 'create',
  startsFrom: 'not-stored',
  decode: async (request, body) => ({
    sent: await decodeKind(request, body, TOKEN_REQUEST_SCHEMA),
  }),
  draft: (parts, attempt) => {
    const { sent, target, now } = attempt;
    const { definition, namespace, name } = target;
    const { tokenIssuer: issuer } = parts.deps;
    return new PostedObject(parts, attempt, {
      object: sent,
      kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
      respond: async (reader) => {
        const account = await reader.find<ServiceAccount>(definition, namespace, name);
        if (account === undefined) throw accountMissing(name);
        return issueToken(account, sent, { reader, issuer, now });
      },
    });
  },
};
