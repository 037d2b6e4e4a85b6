import type { Fence } from '@gantry/client';

/** One leadership: the election key and its create revision in this incarnation of the store. Every write of it is guarded by them. */
export interface Term {
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
}

/** The fence of the present term, given to the client that writes: undefined while not leading, so that such writes are refused. */
export interface FenceHolder {
  fence(): Fence | undefined;
  set(term: Term | undefined, cacheRevision: () => number): void;
}

/** A holder without a term. */
export function createFenceHolder(): FenceHolder {
  let current: { term: Term; cacheRevision: () => number } | undefined;
  return {
    fence: () => {
      if (current === undefined) return undefined;
      const { electionKey, epoch, incarnation } = current.term;
      return { electionKey, epoch, incarnation, cacheRevision: current.cacheRevision() };
    },
    set: (term, cacheRevision) => {
      current = term === undefined ? undefined : { term, cacheRevision };
    },
  };
}
