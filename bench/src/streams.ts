import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Pod, PODS } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster, untilObject } from './cluster.ts';
import { judge } from './limits.ts';
import { judgeRestarts, type Part, partNamed, servicesOf, startMeter } from './parts.ts';
import { docker, rssMib, toolsPath } from './processes.ts';

const IMAGE = 'busybox:latest';
const BYTES = 1e9;
const FILE = '/tmp/data';
const SAMPLE_MS = 100;
/** Services that a stream goes through, and those of them that hold its bytes in a heap. */
const SERVICES = ['agent', 'apiserver', 'load-balancer'];
const HELD_BY = ['agent', 'apiserver'];
/** Of the engine's speed in the same run. */
const LEAST_SHARE = 0.5;
/** What a process may grow by while a gigabyte passes: an unbounded buffer takes more. */
const MOST_GROWTH_MIB = 200;

const HEADING = [
  `| 1 GB | speed | CPU of ${SERVICES.join(', ')} (s) | memory of each process before, at most (MiB) |`,
  '| --- | --- | --- | --- |',
];

/** How fast a gigabyte goes through exec and cp, how fast the engine alone is, and the memory that it takes. */
export async function measureStreams(
  { api, project, kubeconfig }: MeasuredCluster,
  print: (line: string) => void,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-bench-'));
  for (const line of HEADING) print(line);
  try {
    await inNamespace(api, `bench-streams-${process.pid}`, async (namespace) => {
      const running = untilObject<Pod>(api, PODS, namespace, 60_000, (pod) => pod.status?.phase === 'Running');
      await api.create(PODS, sleeper(namespace), deadline());
      const { object: pod } = await running;
      const id = docker('ps', '-q', '--no-trunc', '--filter', `label=io.kubernetes.pod.uid=${pod.metadata.uid}`)
        .split('\n')
        .find(isMain);
      if (id === undefined) throw new Error("the pod's container was not found");
      docker('exec', id, 'sh', '-c', `head -c ${BYTES} /dev/zero >${FILE}`);
      const parts = servicesOf(project).filter(({ name }) => SERVICES.includes(name));
      const used = startMeter(parts);
      process.env['PATH'] = toolsPath(kubeconfig);
      const kubectl = ['--kubeconfig', kubeconfig, '-n', namespace];
      const copied = join(folder, 'copied');
      const verdicts: string[] = [];
      const measure = async (what: string, work: () => Promise<void>) => {
        const { seconds, cpu, memory, growthMib } = await watched(parts, work);
        print(`| ${what} | ${(BYTES / 1e6 / seconds).toFixed(0)} MB/s | ${cpu} | ${memory} |`);
        return { what, seconds, growthMib };
      };
      const compare = (alone: Measured, { what, seconds, growthMib }: Measured) =>
        verdicts.push(
          judge(`${what} to ${alone.what}`, alone.seconds / seconds, { atLeast: LEAST_SHARE }, ' of its speed'),
          judge(`${what}: a process grows by`, growthMib, { atMost: MOST_GROWTH_MIB }, ' MiB'),
        );
      compare(
        await measure('docker exec cat', () => read('docker', ['exec', id, 'cat', FILE], BYTES)),
        await measure('kubectl exec cat', () =>
          read('kubectl', [...kubectl, 'exec', 'main', '--', 'cat', FILE], BYTES),
        ),
      );
      compare(
        await measure('docker exec tar', () => read('docker', ['exec', id, 'tar', 'cf', '-', FILE], BYTES)),
        await measure('kubectl cp from the pod', () => run('kubectl', [...kubectl, 'cp', `main:${FILE}`, copied])),
      );
      compare(
        await measure('docker exec -i cat', () => write(copied, ['exec', '-i', id, 'sh', '-c', 'cat >/tmp/written'])),
        await measure('kubectl cp to the pod', () => run('kubectl', [...kubectl, 'cp', copied, 'main:/tmp/copied'])),
      );
      docker('exec', id, 'cmp', FILE, '/tmp/copied');
      for (const line of ['', ...verdicts, ...judgeRestarts(used())]) print(line);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** How long a gigabyte took, and by how much the process grew that grew most. */
interface Measured {
  readonly what: string;
  readonly seconds: number;
  readonly growthMib: number;
}

function isMain(id: string): boolean {
  return docker('inspect', '-f', '{{index .Config.Labels "io.kubernetes.container.name"}}', id) === 'main';
}

function sleeper(namespace: string): Pod {
  const container = { name: 'main', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: ['sleep', '3600'] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'main', namespace },
    spec: { containers: [container], terminationGracePeriodSeconds: 0 },
  };
}

/** Runs `work`, and samples the memory of the services meanwhile; `cpu` and `memory` are text. */
async function watched(
  parts: readonly Part[],
  work: () => Promise<void>,
): Promise<Omit<Measured, 'what'> & { readonly cpu: string; readonly memory: string }> {
  const held = parts
    .filter(({ name }) => HELD_BY.includes(name))
    .flatMap(({ name, mainPids }) => mainPids.map((pid) => ({ name, pid })));
  const before = held.map(({ pid }) => rssMib(pid));
  const most = [...before];
  const timer = setInterval(() => {
    for (const [index, { pid }] of held.entries()) most[index] = Math.max(most[index] ?? 0, rssMib(pid));
  }, SAMPLE_MS);
  const used = startMeter(parts);
  const startedAt = performance.now();
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const uses = used();
  const cpu = SERVICES.map((service) => (partNamed(uses, service).cpuMs / 1000).toFixed(1));
  const shown = held.map(({ name }, index) => `${name} ${before[index]?.toFixed(0)} → ${most[index]?.toFixed(0)}`);
  const growthMib = Math.max(...most.map((value, index) => value - (before[index] ?? 0)));
  return { seconds, cpu: cpu.join(', '), memory: shown.join(', '), growthMib };
}

/** Runs a program and throws its output away; fails when it is less than `bytes`. */
async function read(program: string, args: readonly string[], bytes: number): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
  let size = 0;
  for await (const part of child.stdout as AsyncIterable<Uint8Array>) size += part.length;
  const code = await ended;
  if (code !== 0 || size < bytes) throw new Error(`${program} ended with ${code} after ${size} bytes`);
}

async function run(program: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(program, args);
}

/** Runs docker with a file as its standard input. */
async function write(file: string, args: readonly string[]): Promise<void> {
  await run('sh', ['-c', 'input=$1; shift; exec docker "$@" <"$input"', 'write', file, ...args]);
}
