export interface ExecuteOptions {
  /** The maximum number of actions in parallel; 16 when absent. */
  readonly parallel?: number;
  /**
   * `slow-start` runs one action, then two, four and so on, and stops after the first group with a failure. So a create that the API
   * rejects is attempted once, not a thousand times. `full` runs all actions and fails at the end. `slow-start` when absent.
   */
  readonly pace?: 'slow-start' | 'full';
}

const DEFAULT_PARALLEL = 16;

/**
 * Executes independent actions. Rejects with the first error, after every started action has ended. In `slow-start`, the remaining actions
 * are then skipped.
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
