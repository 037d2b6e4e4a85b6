import { controllerOf } from '../history/api-objects.ts';
import type { ObjectVersion } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import type { Invariant } from './invariant.ts';
import { findRunningTwice } from './running-twice.ts';

/**
 * I9 (StatefulSet's at-most-one semantics). Of one ordinal of a StatefulSet, containers of two pods never run at the same time, also while
 * a node is cut off; and once a pod has acknowledged what a client appended to the ordinal's file, no pod before it does. From the engines'
 * events and the clients' records; etcd says which pods are a StatefulSet's.
 */
export const oneOrdinal: Invariant = {
  id: 'I9',
  title: 'An ordinal of a StatefulSet runs at most once',
  unit: "starts of a StatefulSet's containers",
  needs: ['etcd', 'engine'],
  observe(world, findings) {
    const names = new Set<string>();
    /** The pods that acknowledged appends to an ordinal's file, by uid, the last one last. */
    const writers = new Map<string, Map<string, Source>>();
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
      client(line, source) {
        if (!('observe' in line) || line.observe !== 'appended') return;
        const uid = line.value.split('@')[1] ?? '';
        const known = writers.get(line.key) ?? new Map<string, Source>();
        writers.set(line.key, known);
        const [last, lastSource] = [...known].at(-1) ?? [uid];
        if (last === uid) {
          known.set(uid, source);
          return;
        }
        findings.checked();
        if (known.has(uid)) {
          const what = `${line.key}: pod ${uid} took ${line.value} after pod ${last} had taken over its file`;
          findings.violation(line.atMs, what, known.get(uid), lastSource, source);
        }
        known.delete(uid);
        known.set(uid, source);
      },
    };
  },
};
