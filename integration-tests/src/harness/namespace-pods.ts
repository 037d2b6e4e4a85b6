import { PODS } from '@gantry/objects';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

const PATIENCE_MS = 120_000;

/** kubectl in one namespace, and what becomes of its pods. */
export function namespacePods(cluster: Cluster, namespace: string) {
  const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', namespace, ...args], { input });
  return {
    kubectl,
    apply: (manifest: string) => kubectl(['apply', '-f', '-'], manifest),
    /** Fails with the pod's log when it has failed. */
    untilSucceeded: (name: string) =>
      eventually(`${name} has succeeded`, PATIENCE_MS, async () => {
        const { status } = await cluster.get(PODS, namespace, name);
        if (status?.phase === 'Failed') throw new Error(await kubectl(['logs', name]));
        return status?.phase === 'Succeeded';
      }),
    untilDescribed: (name: string, text: string) =>
      eventually(`${name} says ${text}`, PATIENCE_MS, async () =>
        (await kubectl(['describe', 'pod', name])).includes(text),
      ),
  };
}
