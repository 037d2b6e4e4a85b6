import type { Instant } from '@gantry/base';

/** A public key that verifies service account tokens. The newest one's private key signs them. */
export interface TokenKey {
  /** PEM. */
  readonly publicKey: string;
  readonly madeAt: Instant;
  /** When a newer key took over; undefined for the one that signs. */
  readonly retiredAt?: Instant;
}

/** `keep` rotates the key when it is old, `rotate` now, `replace` now and without those before, whose tokens all end at once. */
export const TOKEN_KEY_ORDERS = ['keep', 'rotate', 'replace'] as const;
export type TokenKeyOrder = (typeof TOKEN_KEY_ORDERS)[number];

const DAY_MS = 86_400_000;
const SIGNING_LIFE_MS = 90 * DAY_MS;
/** The longest life of a token, which the apiserver enforces (`token-issuer.ts`), and a day for clocks that differ. */
const TOKEN_LIFE_MS = (10 * 365 + 1) * DAY_MS;

/** Whether a new key is made, and which of the found ones go on verifying: those whose tokens may still be valid. */
export function planTokenKeys(
  found: readonly TokenKey[],
  order: TokenKeyOrder,
  now: Instant,
): { readonly rotate: boolean; readonly keep: readonly TokenKey[] } {
  if (order === 'replace') return { rotate: true, keep: [] };
  const keep = found.filter(({ retiredAt }) => retiredAt === undefined || now - retiredAt < TOKEN_LIFE_MS);
  const signing = found.find(({ retiredAt }) => retiredAt === undefined);
  const isDue = signing === undefined || now - signing.madeAt >= SIGNING_LIFE_MS;
  return { rotate: isDue || order === 'rotate', keep };
}
