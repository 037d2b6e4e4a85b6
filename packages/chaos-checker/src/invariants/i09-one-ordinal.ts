import { controllerOf } from '../history/api-objects.ts';
import type { ObjectVersion } from '../history/world.ts';
import type { Invariant } from './invariant.ts';
import { findRunningTwice } from './running-twice.ts';

/**
 * I9 (StatefulSet's at-most-one semantics). Of one ordinal of a StatefulSet, containers of two pods never run at the same time, also while
 * a node is cut off. From the engines' events; etcd says which pods are a StatefulSet's.
 */
export const oneOrdinal: Invariant = {
  id: 'I9',
  title: 'An ordinal of a StatefulSet runs at most once',
  unit: "starts of a StatefulSet's containers",
  needs: ['etcd', 'engine'],
  observe(world, findings) {
    const names = new Set<string>();
    const learn = ({ object, namespace, name }: ObjectVersion) => {
      if (controllerOf(object)?.kind === 'StatefulSet') names.add(`${namespace}/${name}`);
    };
    const twice = findRunningTwice(
      world,
      findings,
      ({ namespace, name }) => (names.has(`${namespace}/${name}`) ? `${namespace}/${name}` : undefined),
      (one, other) => one.uid !== other.uid,
    );
    return {
      ...twice,
      begin() {
        for (const version of world.list('pods')) learn(version);
      },
      change({ resource, after }) {
        if (resource === 'pods' && after !== undefined) learn(after);
      },
    };
  },
};
