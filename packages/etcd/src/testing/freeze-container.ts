/** What freezing needs of a container; one of `dockerode` has it. */
export interface FreezableContainer {
  pause(): Promise<unknown>;
  unpause(): Promise<unknown>;
}

/** runc has tried for some milliseconds each time. */
const ATTEMPTS = 20;

/**
 * Stops every process of a running container. On control groups of version 1, runc gives up with "unable to freeze" while
 * processes of the container start others, and leaves it to its caller to try again (opencontainers/runc#4388). The container
 * is thawed between two attempts. Throws the engine's error when it is another one, and after the last attempt.
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

/** A failed attempt may leave a part of the processes frozen, with a container that is paused or, for the engine, runs. */
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
