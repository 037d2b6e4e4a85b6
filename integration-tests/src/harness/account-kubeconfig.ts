import { readFile, writeFile } from 'node:fs/promises';
import type { ObjectKey } from '@gantry/objects';
import { parse } from 'yaml';
import type { Cluster } from './cluster.ts';

/** Writes a kubeconfig with a token of a ServiceAccount, in the account's namespace. */
export async function writeAccountKubeconfig(
  cluster: Cluster,
  { namespace, name }: ObjectKey,
  file: string,
): Promise<void> {
  const token = (await cluster.mustKubectl(['create', 'token', name, '-n', namespace])).trim();
  const administrator = parse(await readFile(cluster.kubeconfig, 'utf8')) as {
    readonly clusters: readonly { readonly name: string }[];
  };
  const kubeconfig = {
    ...administrator,
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: administrator.clusters[0]?.name, user: name, namespace } }],
    'current-context': name,
  };
  await writeFile(file, JSON.stringify(kubeconfig), { mode: 0o600 });
}
