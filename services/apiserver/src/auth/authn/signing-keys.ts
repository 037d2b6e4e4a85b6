import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, type JWK } from 'jose';

/** The pair that signs and verifies service account tokens. */
export interface SigningKeys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512';
  /** Base64url of the SHA-256 of the public key's DER: how Kubernetes names keys. */
  readonly keyId: string;
}

/** A key that cannot sign service account tokens. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

const CURVES: Readonly<Record<string, SigningKeys['algorithm']>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Reads `sa.key` and `sa.pub` (PEM, RSA or EC). */
export async function readSigningKeys(folder: string): Promise<SigningKeys> {
  const [key, pub] = await Promise.all([readFile(join(folder, 'sa.key')), readFile(join(folder, 'sa.pub'))]);
  return createSigningKeys(key, pub);
}

/** Keys from PEM texts; the public one follows from the private one when absent. */
export function createSigningKeys(privatePem: string | Buffer, publicPem?: string | Buffer): SigningKeys {
  const privateKey = createPrivateKey(privatePem);
  const publicKey = createPublicKey(publicPem ?? privatePem);
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return {
    privateKey,
    publicKey,
    algorithm: algorithmOf(privateKey),
    keyId: createHash('sha256').update(der).digest('base64url'),
  };
}

function algorithmOf(key: KeyObject): SigningKeys['algorithm'] {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  const curve = key.asymmetricKeyType === 'ec' ? key.asymmetricKeyDetails?.namedCurve : undefined;
  const algorithm = curve === undefined ? undefined : CURVES[curve];
  if (algorithm === undefined) {
    throw new SigningKeyError(`sa.key: ${key.asymmetricKeyType ?? 'unknown'} ${curve ?? ''} keys cannot sign tokens`);
  }
  return algorithm;
}

/** `/openid/v1/jwks`: the public key, for clients that verify tokens themselves. */
export async function jsonWebKeySet(keys: SigningKeys): Promise<{ keys: JWK[] }> {
  const jwk = await exportJWK(keys.publicKey);
  return { keys: [{ use: 'sig', kid: keys.keyId, alg: keys.algorithm, ...jwk }] };
}

/** `/.well-known/openid-configuration`. */
export function openIdConfiguration(keys: SigningKeys, issuer: string): object {
  return {
    issuer,
    jwks_uri: `${issuer}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [keys.algorithm],
  };
}
