import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { REGISTRY, resourceRootOf } from './keys.ts';
import { StoreError } from './object-store.ts';

/** A key of 32 bytes. Its id is stored with each sealed value, 1 to 255 bytes of UTF-8. */
export interface SealingKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The cluster's keys, the same in all apiservers. The methods are synchronous: keys of another system must be fetched beforehand. */
export interface SealingKeys {
  /** The key for new values. */
  current(): SealingKey;
  /** The key with this id, for reading; undefined when there is none. */
  find(id: string): SealingKey | undefined;
}

/** Encrypts values in etcd. A value is bound to its etcd key and to the header of its envelope, and cannot be opened with others. */
export interface Sealing {
  /** Whether writes seal the object at this key. Reads accept sealed and plain values in any case. */
  seals(key: string): boolean;
  seal(key: string, header: Uint8Array, plain: Uint8Array): Buffer;
  /** Throws StoreError when the sealing key is unknown or the value was changed. */
  open(key: string, header: Uint8Array, sealed: Uint8Array): Buffer;
  /** The id of the key that seals new values. */
  currentKeyId(): string;
}

const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SECRET_BYTES = 32;

/**
 * Seals objects of these resources (`secrets`, `things.example.org`) with AES-256-GCM. Every value has its own key, derived from the
 * cluster's key and a random salt. So the limit of AES-GCM for the number of messages per key does not apply to the cluster's key. The
 * format after the envelope's header: length of the key id, key id, salt, nonce, ciphertext, tag.
 */
export function createSealing(keys: SealingKeys, resources: readonly string[]): Sealing {
  const roots = new Set(resources.map(rootOf));
  return {
    seals: (key) => roots.size > 0 && key.startsWith(REGISTRY) && roots.has(resourceRootOf(key)),
    seal: (key, header, plain) => seal(keys.current(), aboutOf(key, header), plain),
    open: (key, header, sealed) => open(keys, key, aboutOf(key, header), sealed),
    currentKeyId: () => keys.current().id,
  };
}

/** The id of the key that opens a sealed value. */
export function keyIdOf(sealed: Uint8Array): string {
  return Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).toString('utf8', 1, 1 + (sealed[0] ?? 0));
}

/** A fixed set of keys, the current one first. */
export function fixedKeys(keys: readonly [SealingKey, ...SealingKey[]]): SealingKeys {
  const byId = new Map(keys.map((key) => [key.id, key]));
  return { current: () => keys[0], find: (id) => byId.get(id) };
}

function rootOf(resource: string): string {
  const dot = resource.indexOf('.');
  return dot < 0 ? `${REGISTRY}${resource}/` : `${REGISTRY}${resource.slice(dot + 1)}/${resource.slice(0, dot)}/`;
}

/** The additional authenticated data of a value. */
function aboutOf(key: string, header: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(key), Buffer.of(0), header]);
}

/** Derives the key of one value. */
function derive({ secret }: SealingKey, salt: Uint8Array): Buffer {
  if (secret.length !== SECRET_BYTES) throw new StoreError('unavailable', `a sealing key has ${secret.length} bytes`);
  return createHmac('sha256', secret).update('gantry value ').update(salt).digest();
}

function seal(key: SealingKey, about: Buffer, plain: Uint8Array): Buffer {
  const id = Buffer.from(key.id);
  const random = randomBytes(SALT_BYTES + NONCE_BYTES);
  const cipher = createCipheriv(
    'aes-256-gcm',
    derive(key, random.subarray(0, SALT_BYTES)),
    random.subarray(SALT_BYTES),
  );
  cipher.setAAD(about);
  const text = cipher.update(plain);
  return Buffer.concat([Buffer.of(id.length), id, random, text, cipher.final(), cipher.getAuthTag()]);
}

function open(keys: SealingKeys, etcdKey: string, about: Buffer, sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const id = keyIdOf(bytes);
  const key = keys.find(id);
  if (key === undefined) {
    throw new StoreError(
      'unavailable',
      `${etcdKey} is sealed with the key ${JSON.stringify(id)}, which this cluster lacks`,
    );
  }
  const saltAt = 1 + Buffer.byteLength(id);
  const nonceAt = saltAt + SALT_BYTES;
  const textAt = nonceAt + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  if (tagAt < textAt) throw new StoreError('unavailable', `${etcdKey} is sealed, and cut off`);
  const secret = derive(key, bytes.subarray(saltAt, nonceAt));
  const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(nonceAt, textAt), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(about);
  decipher.setAuthTag(bytes.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(textAt, tagAt)), decipher.final()]);
  } catch (error) {
    throw new StoreError('unavailable', `${etcdKey} does not hold what was sealed there`, { cause: error });
  }
}
