import { randomFillSync, randomUUID } from 'node:crypto';

/** Uniform in [0, 1). */
export type Random = () => number;

/** Creates an object uid (RFC 4122 version 4). */
export type NewUid = () => string;

const BYTES = 6;

/** Cryptographic randomness. Draws bytes for 256 numbers at once, because one draw costs as much as hundreds of bytes. */
export const systemRandom: Random = createSystemRandom();
/** Random uids. */
export const systemUid: NewUid = () => randomUUID();

function createSystemRandom(): Random {
  const pool = Buffer.alloc(BYTES * 256);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += BYTES;
    return pool.readUIntBE(used - BYTES, BYTES) / 2 ** (8 * BYTES);
  };
}

/** Letters and digits without vowels and similar characters: the alphabet of Kubernetes' `rand.String` for generated names. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** `length` random characters that are safe in an object name. */
export function randomSuffix(random: Random, length = 5): string {
  let out = '';
  for (let i = 0; i < length; i++) out += ALPHABET[Math.floor(random() * ALPHABET.length)];
  return out;
}

/** Replaces each character with one of the same alphabet, like Kubernetes' `rand.SafeEncodeString` for template hashes. */
export function safeEncode(text: string): string {
  let out = '';
  for (const character of text) out += ALPHABET[character.charCodeAt(0) % ALPHABET.length];
  return out;
}

/** A repeatable generator (mulberry32) for simulations and tests. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
