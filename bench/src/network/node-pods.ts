import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type Pod, PODS } from '@gantry/objects';
import { deadline, type MeasuredCluster, untilObject } from '../cluster.ts';
import { docker, serviceContainers } from '../processes.ts';

const READY_MS = 120_000;
/** Programs of this folder are run as they are written. */
const PROGRAM = ['node', '--input-type=module-typescript', '--no-warnings'];

/** The image of the cluster's own services, which has Node.js. */
export function nodeImage({ project }: MeasuredCluster): string {
  const proxy = serviceContainers(project).find(({ service }) => service === 'proxy');
  if (proxy === undefined) throw new Error('no proxy of the cluster runs on this machine');
  return docker('inspect', '-f', '{{.Config.Image}}', proxy.id);
}

/** A pod of the cluster's image that runs `pod-server.ts` and is ready when it serves. */
export function serverPod(namespace: string, name: string, image: string): Pod {
  const main = {
    name: 'main',
    image,
    command: [...PROGRAM, '-e', sourceOf('pod-server.ts')],
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app: name } },
    spec: { containers: [main], terminationGracePeriodSeconds: 5 },
  };
}

export async function startReady({ api }: MeasuredCluster, pod: Pod): Promise<Pod> {
  const { namespace = '', name = '' } = pod.metadata;
  await api.create(PODS, pod, deadline());
  const wanted = (one: Pod) => one.metadata.name === name && isReady(one);
  return (await untilObject<Pod>(api, PODS, namespace, READY_MS, wanted)).object;
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
}

/** Runs a program of this folder in a running pod and gives its lines as they come. Throws when it fails. */
export async function* runIn(pod: Pod, program: string, args: readonly string[]): AsyncGenerator<string> {
  const { uid = '' } = pod.metadata;
  const labels = [`io.kubernetes.pod.uid=${uid}`, 'io.kubernetes.container.name=main'];
  const filters = labels.flatMap((label) => ['--filter', `label=${label}`]);
  const { stdout } = await promisify(execFile)('docker', ['ps', '-q', ...filters]);
  const command = ['exec', '-i', stdout.trim(), ...PROGRAM, '-', ...args];
  const child = spawn('docker', command, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.end(sourceOf(program));
  for await (const line of createInterface({ input: child.stdout })) yield line;
  const code = await ended;
  if (code !== 0) throw new Error(`${program} ended with ${code ?? 'a signal'}`);
}

function sourceOf(program: string): string {
  return readFileSync(join(import.meta.dirname, program), 'utf8');
}
