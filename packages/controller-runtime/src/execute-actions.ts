export interface ExecuteOptions {
  /** How many actions run at once at most; 16 when absent. */
  readonly parallel?: number;
  /**
   * `slow-start` runs one action, then two, four and so on, and stops at the first group with a failure: a creation that is
   * refused is then tried once and not a thousand times. `full` runs all and fails at the end. `slow-start` when absent.
   */
  readonly pace?: 'slow-start' | 'full';
}

const DEFAULT_PARALLEL = 16;

/**
 * Carries out independent actions. Rejects with the first error, after every action that was begun has ended; those that were
 * not begun are left out.
 */
export async function executeActions<A>(
  actions: readonly A[],
  execute: (action: A) => Promise<void>,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<void> {
  const { parallel = DEFAULT_PARALLEL, pace = 'slow-start' } = options;
  const errors: unknown[] = [];
  let size = pace === 'slow-start' ? 1 : parallel;
  for (let start = 0; start < actions.length; ) {
    signal.throwIfAborted();
    const group = actions.slice(start, start + size);
    for (const result of await Promise.allSettled(group.map((action) => execute(action)))) {
      if (result.status === 'rejected') errors.push(result.reason);
    }
    if (errors.length > 0 && pace === 'slow-start') throw errors[0];
    start += group.length;
    size = Math.min(parallel, size * 2);
  }
  if (errors.length > 0) throw errors[0];
}
