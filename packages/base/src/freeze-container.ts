/** The part of a container that freezing needs. Containers of `dockerode` have it. */
export interface FreezableContainer {
  pause(): Promise<unknown>;
  unpause(): Promise<unknown>;
}

/** Each attempt of runc takes some milliseconds. */
const ATTEMPTS = 20;

/**
 * Pauses every process of a running container. On cgroup v1, runc fails with "unable to freeze" while processes of the container start
 * others, and the caller has to retry (opencontainers/runc#4388). The container is thawed between two attempts. Rejects with the engine's
 * error if it is a different one, and after the last attempt.
 */
export async function freezeContainer(container: FreezableContainer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await container.pause();
      return;
    } catch (error) {
      if (!says(error, 'unable to freeze') || attempt === ATTEMPTS) throw error;
    }
    await thawLeftovers(container);
  }
}

/** A failed attempt may leave some processes frozen, while the engine reports the container as paused or as running. */
async function thawLeftovers(container: FreezableContainer): Promise<void> {
  try {
    await container.unpause();
  } catch (error) {
    if (!says(error, 'is not paused')) throw error;
  }
}

function says(error: unknown, text: string): boolean {
  return error instanceof Error && error.message.includes(text);
}
