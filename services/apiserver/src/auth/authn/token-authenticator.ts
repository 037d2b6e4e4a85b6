import type { Clock, Instant } from '@gantry/base';
import type { KubeObject, ServiceAccount } from '@gantry/objects';
import { decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import type { User } from '../user.ts';
import { authenticated } from './identity.ts';
import {
  type AuthenticationNotice,
  type LegacyToken,
  legacyTokenOf,
  type LegacyTokenUses,
  noticeOf,
} from './legacy-tokens.ts';
import type { LookupResource, ObjectLookup } from '../authz/object-lookup.ts';
import {
  ISSUER,
  type KubernetesClaim,
  type NameAndUid,
  parseKubernetesClaim,
  serviceAccountUser,
} from './service-account-claims.ts';
import type { SigningKeySource, VerificationKey } from './signing-keys.ts';

/** The user of a token, and the audiences of the token if it has any. */
export type TokenUser = User & { readonly audiences?: readonly string[] };

export type OnNotice = (notice: AuthenticationNotice) => void;

/** Finds the user of a bearer token. Undefined when the token is not of this authenticator's type or is invalid. */
export interface TokenAuthenticator {
  /**
   * The token must have at least one of `audiences`; the default is the apiserver's own audience. `onNotice` receives a warning for the
   * client and an annotation for the audit log, also for a token that is rejected.
   */
  authenticate(token: string, audiences?: readonly string[], onNotice?: OnNotice): Promise<TokenUser | undefined>;
}

interface Verified {
  readonly keyId: string;
  readonly claim: KubernetesClaim;
  readonly jti: string | undefined;
  readonly audiences: readonly string[];
  readonly notBefore: Instant;
  readonly expires: Instant;
}

const CACHE_SIZE = 4096;
/** How long a token stays valid after the deletion time of the object to which it is bound, as in Kubernetes. */
const DELETED_LEEWAY_MS = 60_000;
const EXTRA = 'authentication.kubernetes.io';

/**
 * Verifies service account tokens. The signature is checked once per token. Every request checks that the service account and the bound
 * object still exist.
 */
export function createServiceAccountAuthenticator(
  keys: SigningKeySource,
  lookup: ObjectLookup,
  clock: Clock,
  legacyTokens: Pick<LegacyTokenUses, 'note'>,
): TokenAuthenticator {
  const verified = new Map<string, Verified>();
  const verify = async (token: string): Promise<Verified | undefined> => {
    const known = verified.get(token);
    // Tokens of a key that is no longer accepted are invalid.
    if (known !== undefined && findKey(keys, known.keyId) !== undefined) return known;
    const key = await keyOf(token, keys);
    const fresh = key === undefined ? undefined : await verifyToken(token, key, clock);
    if (fresh === undefined) return undefined;
    const oldest = verified.size >= CACHE_SIZE ? verified.keys().next().value : undefined;
    if (oldest !== undefined) verified.delete(oldest);
    verified.set(token, fresh);
    return fresh;
  };
  return {
    authenticate: async (token, audiences = [ISSUER], onNotice) => {
      const found = await verify(token);
      if (found === undefined || !found.audiences.some((one) => audiences.includes(one))) return undefined;
      const now = clock.now();
      if (now >= found.expires || now < found.notBefore) return undefined;
      if (!stillBound(found.claim, lookup, now)) return undefined;
      const legacy = findLegacy(token, found.claim, lookup);
      if (legacy !== undefined) {
        legacyTokens.note(legacy);
        onNotice?.(noticeOf(legacy));
        if (legacy.kind === 'invalidated') return undefined;
      }
      return { ...userOf(found), audiences: found.audiences };
    },
  };
}

/** The legacy token and its Secret; undefined if the token is not stored in a Secret. */
function findLegacy(
  token: string,
  { namespace, serviceaccount, secret }: KubernetesClaim,
  lookup: ObjectLookup,
): LegacyToken | undefined {
  if (secret === undefined) return undefined;
  const account: ServiceAccount | undefined = lookup.get('serviceaccounts', namespace, serviceaccount.name);
  return legacyTokenOf(token, lookup.get('secrets', namespace, secret.name), account);
}

function findKey(keys: SigningKeySource, keyId: string): VerificationKey | undefined {
  return keys.current().verifying.find((key) => key.keyId === keyId);
}

/** The key that a token names. Another apiserver may have signed with a key that this one has not read yet. */
async function keyOf(token: string, keys: SigningKeySource): Promise<VerificationKey | undefined> {
  let keyId: unknown;
  try {
    keyId = decodeProtectedHeader(token).kid;
  } catch {
    // Not a JWT.
    return undefined;
  }
  if (typeof keyId !== 'string') return undefined;
  const known = findKey(keys, keyId);
  if (known !== undefined) return known;
  await keys.refresh();
  return findKey(keys, keyId);
}

async function verifyToken(token: string, key: VerificationKey, clock: Clock): Promise<Verified | undefined> {
  let payload: JWTPayload;
  try {
    ({ payload } = await jwtVerify(token, key.publicKey, {
      issuer: ISSUER,
      algorithms: [key.algorithm],
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(clock.now()),
    }));
  } catch {
    // An invalid token does not authenticate; the client gets no details.
    return undefined;
  }
  const claim = parseKubernetesClaim(payload['kubernetes.io']);
  if (claim === undefined || payload.exp === undefined) return undefined;
  if (payload.sub !== serviceAccountUser(claim.namespace, claim.serviceaccount.name)) return undefined;
  const audiences = [payload.aud ?? []].flat();
  return {
    keyId: key.keyId,
    claim,
    jti: payload.jti,
    audiences,
    notBefore: (payload.nbf ?? 0) * 1000,
    expires: payload.exp * 1000,
  };
}

function stillBound(claim: KubernetesClaim, lookup: ObjectLookup, now: Instant): boolean {
  const { namespace, serviceaccount, pod, secret, node } = claim;
  const exists = (resource: LookupResource, of: string, { name, uid }: NameAndUid) =>
    isStillThere(lookup.get(resource, of, name), uid, now);
  if (!exists('serviceaccounts', namespace, serviceaccount)) return false;
  if (pod !== undefined && !exists('pods', namespace, pod)) return false;
  if (secret !== undefined && !exists('secrets', namespace, secret)) return false;
  // The token of a pod names the node only for information. A token that is bound to a node alone is valid while the node exists.
  return pod !== undefined || node === undefined || exists('nodes', '', node);
}

/** Whether the object has this uid and is not past its deletion time. Finalizers may keep a deleted object longer. */
function isStillThere(object: KubeObject | undefined, uid: string, now: Instant): boolean {
  if (object?.metadata.uid !== uid) return false;
  const { deletionTimestamp } = object.metadata;
  return deletionTimestamp === undefined || Date.parse(deletionTimestamp) >= now - DELETED_LEEWAY_MS;
}

function userOf({ claim, jti }: Verified): User {
  const { namespace, serviceaccount, pod, node } = claim;
  const extra: Record<string, readonly string[]> = {};
  if (jti !== undefined) extra[`${EXTRA}/credential-id`] = [`JTI=${jti}`];
  if (node !== undefined) {
    extra[`${EXTRA}/node-name`] = [node.name];
    extra[`${EXTRA}/node-uid`] = [node.uid];
  }
  if (pod !== undefined) {
    extra[`${EXTRA}/pod-name`] = [pod.name];
    extra[`${EXTRA}/pod-uid`] = [pod.uid];
  }
  return authenticated(
    serviceAccountUser(namespace, serviceaccount.name),
    ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    { uid: serviceaccount.uid, extra },
  );
}
