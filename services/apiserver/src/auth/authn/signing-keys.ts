import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, type Instant } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { exportJWK, type JWK } from 'jose';

/** A key that verifies service account tokens. */
export interface VerificationKey {
  readonly publicKey: KeyObject;
  readonly algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512';
  /** Base64url of the SHA-256 of the public key in DER, as in Kubernetes. */
  readonly keyId: string;
}

/** The key that signs tokens, and all keys that verify them. The first verification key belongs to the signing key. */
export interface SigningKeys {
  readonly privateKey: KeyObject;
  readonly signing: VerificationKey;
  readonly verifying: readonly VerificationKey[];
}

/** A source of keys, which may be rotated at run time. */
export interface SigningKeySource {
  current(): SigningKeys;
  /** Reads the keys again. Called for a token of an unknown key. */
  refresh(): Promise<void>;
}

/** A key that cannot sign service account tokens. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

const CURVES: Readonly<Record<string, VerificationKey['algorithm']>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
/** Tokens of unknown keys cause at most one read in this time. */
const READ_AGAIN_MS = 1000;
/** The interval between reads without such tokens. */
const READ_EVERY_MS = 10_000;
/** A new key is published this long before it signs, so that every apiserver and every client of the key set knows it. */
const ADOPT_MS = 2 * READ_EVERY_MS;
const PUBLIC_PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** Reads `sa.key` and `sa.pub` (PEM, RSA or EC). `sa.pub` has one or several keys. */
export async function readSigningKeys(folder: string): Promise<SigningKeys> {
  const [key, pub] = await Promise.all([readFile(join(folder, 'sa.key')), readFile(join(folder, 'sa.pub'), 'utf8')]);
  return createSigningKeys(key, pub);
}

/** Creates the keys from PEM texts. The public key of `privatePem` need not be in `publicPems`. */
export function createSigningKeys(privatePem: string | Buffer, publicPems = ''): SigningKeys {
  const privateKey = createPrivateKey(privatePem);
  const signing = verificationKey(createPublicKey(privatePem));
  const others = [...publicPems.matchAll(PUBLIC_PEM)]
    .map(([pem]) => verificationKey(createPublicKey(pem)))
    .filter(({ keyId }) => keyId !== signing.keyId);
  return { privateKey, signing, verifying: [signing, ...others] };
}

/** Keys that never change. */
export function fixedSigningKeys(keys: SigningKeys): SigningKeySource {
  return { current: () => keys, refresh: () => Promise.resolve() };
}

/**
 * Keys of a folder, which are read again regularly. If a read fails, the current keys stay in use. A new key verifies tokens at once. It
 * signs tokens after `ADOPT_MS`, or at once if the previous key is no longer accepted.
 */
export class SigningKeyFolder implements SigningKeySource, Disposable {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #keys: SigningKeys;
  #readAt: Instant;
  /** The next signing key, and the time since which it is published. */
  #next: { readonly keyId: string; readonly sinceMs: Instant } | undefined;
  #reading: Promise<void> | undefined;
  #cancelTimer: () => void;

  constructor(
    folder: string,
    keys: SigningKeys,
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#folder = folder;
    this.#keys = keys;
    this.#clock = clock;
    this.#logger = logger;
    this.#readAt = clock.monotonicMs();
    this.#cancelTimer = this.#schedule();
  }

  current(): SigningKeys {
    return this.#keys;
  }

  async refresh(): Promise<void> {
    if (this.#reading === undefined && this.#clock.monotonicMs() - this.#readAt < READ_AGAIN_MS) return;
    this.#reading ??= this.#read();
    await this.#reading;
  }

  [Symbol.dispose](): void {
    this.#cancelTimer();
  }

  #schedule(): () => void {
    return this.#clock.setTimer(READ_EVERY_MS, () => {
      this.#cancelTimer = this.#schedule();
      void this.refresh();
    });
  }

  #adopt(found: SigningKeys): SigningKeys {
    const { privateKey, signing } = this.#keys;
    const { keyId } = found.signing;
    const isOverlapping = found.verifying.some((key) => key.keyId === signing.keyId);
    if (keyId === signing.keyId || !isOverlapping) {
      this.#next = undefined;
      return found;
    }
    const nowMs = this.#clock.monotonicMs();
    if (this.#next?.keyId !== keyId) this.#next = { keyId, sinceMs: nowMs };
    return nowMs - this.#next.sinceMs >= ADOPT_MS ? found : { privateKey, signing, verifying: found.verifying };
  }

  async #read(): Promise<void> {
    try {
      const before = this.#keys;
      this.#keys = this.#adopt(await readSigningKeys(this.#folder));
      const { signing, verifying } = this.#keys;
      if (signing.keyId !== before.signing.keyId || verifying.length !== before.verifying.length) {
        this.#logger.info({ signing: signing.keyId, verifying: verifying.length }, 'service account keys have changed');
      }
    } catch (error) {
      this.#logger.warn({ folder: this.#folder, reason: errorMessage(error) }, 'service account keys not read again');
    } finally {
      this.#readAt = this.#clock.monotonicMs();
      this.#reading = undefined;
    }
  }
}

function verificationKey(publicKey: KeyObject): VerificationKey {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return {
    publicKey,
    algorithm: algorithmOf(publicKey),
    keyId: createHash('sha256').update(der).digest('base64url'),
  };
}

function algorithmOf(key: KeyObject): VerificationKey['algorithm'] {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  const curve = key.asymmetricKeyType === 'ec' ? key.asymmetricKeyDetails?.namedCurve : undefined;
  const algorithm = curve === undefined ? undefined : CURVES[curve];
  if (algorithm === undefined) {
    throw new SigningKeyError(`sa.key: ${key.asymmetricKeyType ?? 'unknown'} ${curve ?? ''} keys cannot sign tokens`);
  }
  return algorithm;
}

/** `/openid/v1/jwks`: the public keys, for clients that verify tokens themselves. */
export async function jsonWebKeySet({ verifying }: SigningKeys): Promise<{ keys: JWK[] }> {
  const keys = verifying.map(async ({ publicKey, keyId, algorithm }) => {
    const jwk = await exportJWK(publicKey);
    return { use: 'sig', kid: keyId, alg: algorithm, ...jwk };
  });
  return { keys: await Promise.all(keys) };
}

/** `/.well-known/openid-configuration`. */
export function openIdConfiguration({ verifying }: SigningKeys, issuer: string): object {
  return {
    issuer,
    jwks_uri: `${issuer}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(verifying.map(({ algorithm }) => algorithm))],
  };
}
