import type { Invariant } from './invariant.ts';
import { findRunningTwice } from './running-twice.ts';

/**
 * I8 (Kubernetes: a pod runs on one node). Of one pod, by uid, at most one container of each name runs, over all engines and nodes. From
 * the engines' events.
 */
export const oneContainerSet: Invariant = {
  id: 'I8',
  title: 'A pod runs at most once',
  unit: 'starts of containers',
  needs: ['engine'],
  observe(world, findings) {
    return findRunningTwice(
      world,
      findings,
      ({ uid, container }) => `${uid}/${container}`,
      () => true,
    );
  },
};
