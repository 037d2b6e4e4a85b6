import { Cluster } from '../harness/cluster.ts';
import { compact, currentRevision } from '../harness/etcd-console.ts';
import { runProgram } from '../harness/process.ts';

/** Makes the store of the cluster under test forget its history: GANTRY_TEST_COMPACT is a command that does, if it is no cluster of Compose. */
export async function compactHistory(): Promise<void> {
  const command = process.env['GANTRY_TEST_COMPACT'];
  if (command !== undefined) {
    const { code, stderr } = await runProgram('sh', ['-c', command]);
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`);
    return;
  }
  const cluster = new Cluster();
  await compact(cluster, await currentRevision(cluster));
}
