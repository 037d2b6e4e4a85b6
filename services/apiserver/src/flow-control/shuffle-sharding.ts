import { createHash } from 'node:crypto';

/** Number of bits of the hash. */
const HASH_BITS = 64n;

/** A 64-bit hash of a flow, from the name of its schema and its distinguisher. */
export function hashFlow(schema: string, flow: string): bigint {
  const digest = createHash('sha256').update(schema).update('\0').update(flow).digest();
  return BigInt.asUintN(Number(HASH_BITS), digest.readBigUInt64LE(0));
}

/**
 * Kubernetes' shuffle sharding. Returns the queues that a flow may use: `handSize` different ones of `queues`, always the same for a hash.
 * Two flows rarely have the same hand, so a flow that fills all its queues rarely blocks another flow.
 */
export function dealHand(hash: bigint, queues: number, handSize: number): readonly number[] {
  const hand: number[] = [];
  let rest = hash;
  for (let i = 0; i < Math.min(handSize, queues); i++) {
    const left = BigInt(queues - i);
    let card = Number(rest % left);
    rest /= left;
    for (const taken of hand.toSorted((a, b) => a - b)) if (taken <= card) card += 1;
    hand.push(card);
  }
  return hand;
}
