/** Work that runs until its signal is aborted. */
export type Part = (signal: AbortSignal) => Promise<void>;

/** Runs parts until the first one fails or `signal` is aborted; then aborts the others and waits for them. */
export async function runTogether(parts: readonly Part[], signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const all = AbortSignal.any([signal, failed.signal]);
  const results = await Promise.allSettled(
    parts.map((part) =>
      part(all).catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  const first = results.find((result) => result.status === 'rejected');
  if (first !== undefined && !signal.aborted) throw failed.signal.reason;
}
