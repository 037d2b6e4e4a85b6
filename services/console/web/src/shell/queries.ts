import { StatusError } from '@gantry/objects';
import { QueryClient } from '@tanstack/react-query';

const MAX_RETRY_MS = 5_000;

/** A refusal stays one: only what may succeed later is tried again. */
export const mayPass = (error: unknown) => !(error instanceof StatusError) || error.code >= 500 || error.code === 429;

/** Reads of one user, or of one recorded run. */
export function createQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: (count, error) => count < 2 && mayPass(error),
        retryDelay: (count) => Math.min(1000 * 2 ** count, MAX_RETRY_MS),
        staleTime: 5_000,
        // A console on this machine responds also to a browser that is offline.
        networkMode: 'always',
        refetchOnReconnect: true,
      },
    },
  });
}
