import type { Project } from './compose.ts';

/** A container that this many looks in a row find restarting counts as one that does not stay up. */
const LOOKS = 6;

/**
 * Looks for containers that keep restarting: with one, waiting for the cluster is in vain. Gives the reason, or undefined. A
 * container that runs counts as sound, however long it takes: services wait for each other, and a machine may be slow.
 */
export function watchRestarts(project: Pick<Project, 'containers'>): () => Promise<string | undefined> {
  let looks: ReadonlyMap<string, number> = new Map();
  return async () => {
    const restarting = (await project.containers()).filter(({ state }) => state === 'restarting');
    looks = new Map(restarting.map(({ name }) => [name, (looks.get(name) ?? 0) + 1]));
    const names = [...looks].filter(([, count]) => count >= LOOKS).map(([name]) => name);
    return names.length === 0 ? undefined : `containers that keep restarting: ${names.join(', ')}`;
  };
}
