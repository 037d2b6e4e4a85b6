import { type Pod, PODS } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster, podKey, untilObject } from './cluster.ts';
import { dockerAside } from './processes.ts';
import { describeMs } from './statistics.ts';

const RUNS = 20;
const IMAGE = 'busybox:latest';
const PAUSE = 'registry.k8s.io/pause:3.10';

/** Time of one pod from POST to Running, and the engine's time for the same two containers. */
export async function measurePods(cluster: MeasuredCluster): Promise<string[]> {
  const times: number[] = [];
  await inNamespace(cluster.api, 'bench-pods', async (namespace) => {
    for (let i = 0; i < RUNS; i++) {
      const name = `pod-${i}`;
      const running = untilObject<Pod>(
        cluster.api,
        PODS,
        namespace,
        30_000,
        (pod) => pod.metadata.name === name && pod.status?.phase === 'Running',
      );
      const startedAt = performance.now();
      await cluster.api.create(PODS, sleeper(namespace, name), deadline());
      times.push((await running).at - startedAt);
      await cluster.api.delete(PODS, podKey(namespace, name), { gracePeriodSeconds: 0 }, deadline());
    }
  });
  return [
    `- pod from POST to Running: ${describeMs(times)}`,
    `- the engine alone, sandbox and container: ${describeMs(await engineTimes())}`,
  ];
}

function sleeper(namespace: string, name: string): Pod {
  const container = { name: 'main', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: ['sleep', '3600'] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { containers: [container], terminationGracePeriodSeconds: 0 },
  };
}

async function engineTimes(): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    const label = ['--label', 'gantry.bench=pods'];
    const startedAt = performance.now();
    const sandbox = await dockerAside('run', '-d', ...label, '--name', `gantry-bench-sandbox-${i}`, PAUSE);
    const main = await dockerAside('run', '-d', ...label, '--network', `container:${sandbox}`, IMAGE, 'sleep', '3600');
    times.push(performance.now() - startedAt);
    await dockerAside('rm', '-f', main, sandbox);
  }
  return times;
}
