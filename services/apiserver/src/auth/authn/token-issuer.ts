import { type Clock, formatTime, type NewUid } from '@gantry/base';
import { SignJWT } from 'jose';
import { ISSUER, type KubernetesClaim, serviceAccountUser } from './service-account-claims.ts';
import type { SigningKeySource } from './signing-keys.ts';

/** The object to which a service account token is bound. The token is valid only while the object exists. */
export interface BoundObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** The node of a bound pod, if any. */
  readonly node?: { readonly name: string; readonly uid: string };
}

/** Signs service account tokens. The registry has checked that the account and the bound object exist. */
export interface TokenIssuer {
  issue(request: {
    readonly serviceAccount: { readonly namespace: string; readonly name: string; readonly uid: string };
    /** Empty means the issuer's own audience. */
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObject: BoundObject | undefined;
  }): Promise<{ readonly token: string; readonly expirationTimestamp: string }>;
}

const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
/** Maximum lifetime: ten years. Longer ones are shortened. The certificate job keeps verification keys for the same time. */
const MAX_SECONDS = 10 * 365 * 86_400;

type IssueRequest = Parameters<TokenIssuer['issue']>[0];

/** Signs bound service account tokens with Kubernetes' claims. Lifetimes are limited to between ten minutes and ten years. */
export function createTokenIssuer(keys: SigningKeySource, clock: Clock, newUid: NewUid): TokenIssuer {
  return {
    issue: async (request) => {
      const now = Math.floor(clock.now() / 1000);
      const wanted = request.expirationSeconds > 0 ? request.expirationSeconds : DEFAULT_SECONDS;
      const expires = now + Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, wanted));
      const { namespace, name } = request.serviceAccount;
      const { privateKey, signing } = keys.current();
      const token = await new SignJWT({ 'kubernetes.io': claimOf(request) })
        .setProtectedHeader({ alg: signing.algorithm, kid: signing.keyId })
        .setIssuer(ISSUER)
        .setSubject(serviceAccountUser(namespace, name))
        .setAudience(request.audiences.length === 0 ? [ISSUER] : [...request.audiences])
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(expires)
        .setJti(newUid())
        .sign(privateKey);
      return { token, expirationTimestamp: formatTime(expires * 1000) };
    },
  };
}

function claimOf({ serviceAccount, boundObject }: IssueRequest): KubernetesClaim {
  const base = {
    namespace: serviceAccount.namespace,
    serviceaccount: { name: serviceAccount.name, uid: serviceAccount.uid },
  };
  if (boundObject === undefined) return base;
  const ref = { name: boundObject.name, uid: boundObject.uid };
  switch (boundObject.kind) {
    case 'Pod':
      return { ...base, pod: ref, ...(boundObject.node === undefined ? {} : { node: { ...boundObject.node } }) };
    case 'Secret':
      return { ...base, secret: ref };
    case 'Node':
      return { ...base, node: ref };
    default:
      return base;
  }
}
