import { execFileSync, spawn } from 'node:child_process';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@gantry/base/testing';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, isReason, NAMESPACES } from '@gantry/objects';
import { deadline } from '../cluster.ts';
import { cpuMs, endProcess, rssMib } from '../processes.ts';
import { startDevServer } from '../speed/dev-server.ts';
import { type Mirror, MIRRORS } from './mirrors.ts';

/** It runs on the package as users install it, without the sources of the checkout. */
const MAIN = 'bench/src/operator/main.ts';
/** Those of the Dockerfile of generated projects. */
const FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=1024'];
const NAMESPACE_COUNT = 10;
/** Creations under way at once. */
const WRITERS = 16;
const LONGEST_MS = 600_000;
const POLL_MS = 250;
/** How many objects are changed at most, when all are settled. */
const CHANGED = 1000;

export interface OperatorMeasureOptions {
  readonly objects: number;
  readonly etcdMembers: number;
  readonly profileDir: string | undefined;
  /**
   * Programs that do the same with another library, for a comparison: each gets `KUBECONFIG`, and serves `rest_client_requests_total` at
   * `/metrics` of port `PORT` of 127.0.0.1.
   */
  readonly beside: readonly string[];
}

/**
 * A controller of so many custom objects with one owned ConfigMap each: time, requests, CPU and memory from its start until all ConfigMaps and
 * statuses are there, and again for changes of up to 1,000 of them. Each program beside it does the same with an API server of its own.
 */
export async function measureOperator(options: OperatorMeasureOptions): Promise<string[]> {
  const { profileDir, beside } = options;
  execFileSync('npm', ['run', '-s', 'bundle', '-w', '@gantry/operator'], { stdio: 'inherit' });
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const rows = await measureProgram('@gantry/operator', [process.execPath, ...FLAGS, ...profiling, MAIN], options);
  for (const program of beside) rows.push(...(await measureProgram(program, [program], options)));
  return [
    '| | | settled after | requests | CPU | memory | CPU of the API server |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

async function measureProgram(
  title: string,
  [program = '', ...args]: readonly string[],
  { objects, etcdMembers }: OperatorMeasureOptions,
): Promise<string[]> {
  await using dev = await startDevServer({ profileDir: undefined, etcdMembers });
  const api = createHttpClient({ ...readKubeconfig(dev.kubeconfig), fieldManager: 'bench' });
  await api.create(CUSTOM_RESOURCE_DEFINITIONS, MIRRORS.definition, deadline());
  const namespaces = Array.from({ length: NAMESPACE_COUNT }, (_, index) => `mirrors-${index}`);
  for (const name of namespaces) {
    await api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, deadline());
  }
  const keys = Array.from({ length: objects }, (_, index) => ({
    namespace: namespaces[index % namespaces.length] ?? '',
    name: `m${index}`,
  }));
  await each(keys, (key) => create(api, key));
  const port = await freePort();
  const env = { ...process.env, KUBECONFIG: dev.kubeconfig, PORT: String(port) };
  const [server = 0] = dev.server.parts.apiserver.pids;
  const startedAt = performance.now();
  const serverBefore = cpuMs(server);
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const pid = child.pid ?? 0;
  const row = (what: string, ms: number, requests: number, cpu: number, rest: string) =>
    `| ${title} | ${what} | ${seconds(ms)} | ${requests} | ${seconds(cpu)} | ${rest} |`;
  try {
    await until(api, objects, 'first');
    const first = { ms: performance.now() - startedAt, requests: await requestsOf(port), cpu: cpuMs(pid) };
    const memory = `${rssMib(pid).toFixed(0)} MiB`;
    const serverCpu = seconds(cpuMs(server) - serverBefore);
    const changed = keys.slice(0, CHANGED);
    const changedAt = performance.now();
    await each(changed, (key) => api.patch(MIRRORS, key, { merge: { spec: { text: 'second' } } }, deadline()));
    await until(api, changed.length, 'second');
    const changedMs = performance.now() - changedAt;
    const requests = (await requestsOf(port)) - first.requests;
    return [
      row(`${objects} objects`, first.ms, first.requests, first.cpu, `${memory} | ${serverCpu}`),
      row(`${changed.length} changes`, changedMs, requests, cpuMs(pid) - first.cpu, ' | '),
    ];
  } finally {
    await endProcess(child);
    api[Symbol.dispose]();
  }
}

/** A definition is served soon after it was created. */
async function create(api: HttpClient, key: { readonly namespace: string; readonly name: string }): Promise<void> {
  const mirror: Mirror = {
    apiVersion: 'bench.gantry.dev/v1',
    kind: 'Mirror',
    metadata: { ...key },
    spec: { text: 'first' },
  };
  for (const until = deadline(); ; await sleep(POLL_MS)) {
    try {
      await api.create(MIRRORS, mirror, until);
      return;
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values();
  const run = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: WRITERS }, run));
}

/** Waits until so many Mirrors and ConfigMaps have this text. */
async function until(api: HttpClient, count: number, text: string): Promise<void> {
  const end = deadline(LONGEST_MS);
  for (;;) {
    const mirrors = await api.list(MIRRORS, {}, end);
    if (mirrors.items.filter(({ status }) => status?.text === text).length >= count) {
      const configMaps = await api.list(CONFIG_MAPS, {}, end);
      if (configMaps.items.filter(({ data }) => data?.['text'] === text).length >= count) return;
    }
    await sleep(POLL_MS * 4, undefined, { signal: end });
  }
}

/** The sum of `rest_client_requests_total`. */
async function requestsOf(port: number): Promise<number> {
  const text = await new Promise<string>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics' }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => (body += part));
      response.on('end', () => resolve(body)).on('error', reject);
    }).on('error', reject);
  });
  const values = [...text.matchAll(/^rest_client_requests_total\{.*\} (\S+)$/gm)].map(([, value]) => Number(value));
  return values.reduce((sum, value) => sum + value, 0);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
