import { createHash } from 'node:crypto';

/** Bits of the hash from which hands are dealt. */
const HASH_BITS = 64n;

/** A number of 64 bits for a flow: of its schema's name and its distinguisher. */
export function hashFlow(schema: string, flow: string): bigint {
  const digest = createHash('sha256').update(schema).update('\0').update(flow).digest();
  return BigInt.asUintN(Number(HASH_BITS), digest.readBigUInt64LE(0));
}

/**
 * The queues that a flow may wait in: `handSize` different ones of `queues`, always the same for a hash. Two flows rarely have the same
 * hand, so one that fills all of its queues leaves others a way. Kubernetes' shuffle sharding.
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
