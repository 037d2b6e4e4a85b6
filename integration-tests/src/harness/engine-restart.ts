/** A cluster whose engine restarts, or crashes, with all that runs on it: part of `npm run engine-matrix`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import type { HostLab } from './host-lab.ts';

const PATIENCE_MS = 300_000;

/** Of all kinds of volumes that do not outlive a machine's memory by themselves. */
const POD = `
apiVersion: v1
kind: Pod
metadata: { name: keeper, annotations: { gantry.dev/max-restart-delay-seconds: "1" } }
spec:
  terminationGracePeriodSeconds: 1
  # It is not evicted while its node is down.
  tolerations: [{ operator: Exists, effect: NoExecute }]
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, 'trap "exit 0" TERM; touch /memory/file && test -s /token && echo >> /disk/starts && touch /tmp/up; while :; do sleep 0.1; done']
      readinessProbe: { exec: { command: [test, -f, /tmp/up] }, periodSeconds: 1 }
      volumeMounts:
        - { name: memory, mountPath: /memory }
        - { name: disk, mountPath: /disk }
        - { name: token, mountPath: /token, subPath: token }
  volumes:
    - { name: memory, emptyDir: { medium: Memory, sizeLimit: 1Mi } }
    - { name: disk, emptyDir: {} }
    - { name: token, projected: { sources: [{ serviceAccountToken: { path: token } }] } }
`;

/** Restarts the engine under a running cluster in both ways. Throws when the cluster does not come back by itself, whole and without duplicates. */
export async function restartUnderCluster(lab: HostLab, home: string, program: string): Promise<void> {
  const kubectl = (...args: readonly string[]) => lab.must(program, args, { KUBECONFIG: join(home, 'kubeconfig') });
  const manifest = join(home, 'keeper.yaml');
  await writeFile(manifest, POD);
  await kubectl('apply', '-f', manifest);
  await kubectl('wait', 'pod', 'keeper', '--for=condition=Ready', '--timeout=120s');
  const kept = await kubectl('get', 'pod', 'keeper', '-o', 'jsonpath={.metadata.uid}');
  const starts = async () => Number(await kubectl('exec', 'keeper', '--', 'sh', '-c', 'wc -l < /disk/starts'));
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const before = await starts();
    await lab.restartEngine(signal);
    await eventually(`nodes and pods are ready after ${signal}`, PATIENCE_MS, async () => {
      await kubectl('wait', 'node', '--all', '--for=condition=Ready', '--timeout=1s');
      await kubectl('wait', 'pod', '--all', '-A', '--for=condition=Ready', '--timeout=1s');
      if ((await starts()) <= before) throw new Error('the container of keeper is the one before');
      const running = await containersOf(lab);
      if (new Set(running).size < running.length) throw new Error(`a container runs twice: ${running.join(', ')}`);
      return true;
    });
    const uid = await kubectl('get', 'pod', 'keeper', '-o', 'jsonpath={.metadata.uid}');
    if (uid !== kept) throw new Error(`after ${signal} there is another pod than before`);
    process.stdout.write(`the cluster is whole again after ${signal}; keeper has started ${await starts()} times\n`);
  }
}

/** Pod and name of each running container. */
async function containersOf(lab: HostLab): Promise<readonly string[]> {
  const format = '{{.Label "io.kubernetes.pod.uid"}} {{.Label "io.kubernetes.container.name"}}';
  const filter = ['--filter', 'label=io.kubernetes.pod.uid'];
  return (await lab.must('docker', ['ps', ...filter, '--format', format])).split('\n');
}
