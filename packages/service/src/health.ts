import { errorMessage } from '@gantry/base';

/** A named check; throws or rejects with the reason when it fails. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => void | Promise<void>;
}

/** The state of a process: live (otherwise it must be restarted) and ready (otherwise it must get no requests). */
export interface Health {
  /** Names and reasons of failed checks; empty when live. */
  live(): Promise<readonly string[]>;
  /** Names and reasons of failed checks; empty when ready. */
  ready(): Promise<readonly string[]>;
}

/** Health from checks. A process that is not live is not ready either. */
export function createHealth(checks: {
  readonly live?: readonly HealthCheck[];
  readonly ready?: readonly HealthCheck[];
}): Health {
  const live = checks.live ?? [];
  const ready = checks.ready ?? [];
  return { live: () => failures(live), ready: () => failures([...live, ...ready]) };
}

class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

/** Fails until all caches of a process have been listed. `missing` returns the names of those that have not. */
export function cachesListed(missing: () => readonly string[]): HealthCheck {
  return {
    name: 'caches',
    check: () => {
      const names = missing();
      if (names.length > 0) throw new NotReadyError(`not listed yet: ${names.join(', ')}`);
    },
  };
}

async function failures(checks: readonly HealthCheck[]): Promise<readonly string[]> {
  const results = await Promise.all(
    checks.map(async ({ name, check }) => {
      try {
        await check();
        return undefined;
      } catch (error) {
        return `${name}: ${errorMessage(error)}`;
      }
    }),
  );
  return results.filter((result) => result !== undefined);
}
