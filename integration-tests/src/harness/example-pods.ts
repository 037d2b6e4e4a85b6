import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DaemonSet, type Deployment, LEASES } from '@gantry/objects';
import { parseAllDocuments } from 'yaml';
import type { Cluster } from './cluster.ts';

/** An example whose pods run in the cluster, with the accounts and the rights of its manifest. Its objects are removed when it is disposed of. */
export interface ExamplePods extends AsyncDisposable {
  /** Kills the pod of the leader without notice. Resolves with its name. */
  killLeader(): Promise<string>;
  /** What its pods have logged as warnings or errors, such as a write that their rights do not allow. */
  faults(): Promise<readonly string[]>;
}

/**
 * Starts an example. Its pods run the files of this checkout in the image of the cluster's services: that its own image can be built is not
 * tested. `env` is set in the pods of the Deployment, which has the name of the example.
 */
export async function startExamplePods(
  cluster: Cluster,
  example: string,
  namespace: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ExamplePods> {
  const input = await manifest(cluster, example, env);
  await cluster.mustKubectl(['apply', '-f', '-'], { input });
  const remove = async (): Promise<void> => {
    await cluster.kubectl(['delete', '-f', '-', '--ignore-not-found'], { input });
  };
  try {
    await cluster.untilRolledOut(namespace, example);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    killLeader: async () => {
      const { spec } = await cluster.get(LEASES, namespace, example);
      const [pod = ''] = (spec?.holderIdentity ?? '').split('_');
      const now = ['--force', '--grace-period=0', '--ignore-not-found'];
      await cluster.mustKubectl(['delete', 'pod', pod, '-n', namespace, ...now]);
      return pod;
    },
    faults: async () => {
      // The successor of a killed pod has no log before it runs.
      await cluster.untilRolledOut(namespace, example);
      const pods = await cluster.pods(namespace);
      const logs = pods.map(({ metadata }) => cluster.mustKubectl(['logs', '-n', namespace, metadata.name ?? '']));
      const lines = (await Promise.all(logs)).flatMap((text) => text.split('\n')).filter((line) => line !== '');
      return lines.filter((line) => (JSON.parse(line) as { readonly level: string }).level !== 'info');
    },
    [Symbol.asyncDispose]: remove,
  };
}

async function manifest(cluster: Cluster, example: string, env: Readonly<Record<string, string>>): Promise<string> {
  const folder = join(cluster.root, 'examples', example);
  const text = await readFile(join(folder, 'deploy', `${example}.yaml`), 'utf8');
  const image = await cluster.serviceImage();
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Deployment | DaemonSet);
  for (const { kind, spec } of objects) {
    const of = kind === 'Deployment' || kind === 'DaemonSet' ? spec?.template.spec : undefined;
    const [container] = of?.containers ?? [];
    if (of === undefined || container === undefined) continue;
    of.volumes = [...(of.volumes ?? []), { name: 'source', hostPath: { path: cluster.root } }];
    container.image = image;
    container.command = ['node', '--conditions=gantry-source', join(folder, 'src/main.ts')];
    const source = { name: 'source', mountPath: cluster.root, readOnly: true };
    container.volumeMounts = [...(container.volumeMounts ?? []), source];
    if (kind === 'Deployment') container.env = Object.entries(env).map(([name, value]) => ({ name, value }));
  }
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
}
