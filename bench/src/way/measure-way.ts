import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { inNamespace } from '../cluster.ts';
import type { Figure } from '../figures.ts';
import { withHollowNodes } from '../hollow.ts';
import { judge } from '../limits.ts';
import { judgeRestarts, type Part, partOf, startMeter } from '../parts.ts';
import { rssMib, sumOf } from '../processes.ts';
import { rollBack, rollOut } from './roll-out.ts';
import { type DevSystemOptions, type MeasuredSystem, startDevSystem } from './system.ts';

/** Sizes of a cluster. */
interface WaySize {
  readonly nodes: number;
  readonly pods: number;
}

/** What one roll-out has cost. */
interface Way {
  /** Of the table. */
  readonly line: string;
  readonly verdicts: readonly string[];
  /** Of all parts, for a pod. */
  readonly cpuMs: number;
  readonly figures: readonly Figure[];
}

type Print = (line: string) => void;

/** The cost of a pod with few and many pods, and with few and many nodes. */
const GROWTH: readonly WaySize[] = [
  { nodes: 100, pods: 100 },
  { nodes: 100, pods: 1000 },
  { nodes: 100, pods: 10_000 },
  { nodes: 10, pods: 1000 },
  { nodes: 1000, pods: 1000 },
];
/** Pods that run and go before growth is measured: code that is not compiled yet costs more. */
const WARM_PODS = 1000;
/** The dearest size costs at most so many times the cheapest. */
const FLAT = 1.5;
/** After the pods of a round are gone, until memory is looked at. */
const SETTLE_MS = 15_000;
/** Of the memory in the last third of the rounds, to that in the second. */
const MOST_GROWTH = 1.1;
export const MIN_ROUNDS = 6;

const HEADING = [
  '| nodes | pods | created/s | Running/s | CPU a pod | of which | versions of a pod | Events a pod |',
  '| --- | --- | --- | --- | --- | --- | --- | --- |',
];

/** Pods of Deployments on hollow nodes, from the creation of the Deployments until all run: rates, and CPU of each service. */
export async function measureWay(system: MeasuredSystem, size: WaySize, print: Print): Promise<readonly Figure[]> {
  return onHollowNodes(system, size.nodes, print, async (api, parts) => {
    for (const line of HEADING) print(line);
    const way = await oneWay(api, parts, size);
    for (const line of [way.line, '', ...way.verdicts]) print(line);
    return way.figures;
  });
}

/** The same for clusters of several sizes, each a new one. */
export async function measureGrowth(options: DevSystemOptions, print: Print): Promise<readonly Figure[]> {
  const lines: string[] = [];
  const figures: Figure[] = [];
  const costs: number[] = [];
  for (const size of GROWTH) {
    await using system = await startDevSystem(options);
    await onHollowNodes(system, size.nodes, print, async (api, parts) => {
      await oneWay(api, parts, { ...size, pods: WARM_PODS });
      const way = await oneWay(api, parts, size);
      for (const line of way.verdicts) print(line);
      lines.push(way.line);
      figures.push(...way.figures);
      costs.push(way.cpuMs);
    });
  }
  for (const line of ['', ...HEADING, ...lines, '']) print(line);
  print(judge('the dearest pod, to the cheapest', Math.max(...costs) / Math.min(...costs), { atMost: FLAT }, ' times'));
  return figures;
}

/** Pods that come and go in rounds: the memory of each service after each round, which must not grow. */
export async function measureChurn(
  system: MeasuredSystem,
  { nodes, pods, rounds }: WaySize & { readonly rounds: number },
  print: Print,
): Promise<readonly Figure[]> {
  return onHollowNodes(system, nodes, print, async (api, parts) => {
    const names = parts.map(({ name }) => name);
    const used = startMeter(parts);
    print(`| round | ${names.map((name) => `${name}, MiB resident`).join(' | ')} |`);
    print(`| --- |${names.map(() => ' --- |').join('')}`);
    const seen = new Map<string, number[]>(names.map((name) => [name, []]));
    let versions = 0;
    for (let round = 1; round <= rounds; round++) {
      versions += (await inOwnNamespace(api, (namespace) => rollOut(api, namespace, pods))).versions;
      await delay(SETTLE_MS);
      const sizes = parts.map(({ pids }) => sumOf(pids.map(rssMib)));
      for (const [index, name] of names.entries()) seen.get(name)?.push(sizes[index] ?? 0);
      print(`| ${round} | ${sizes.map((size) => size.toFixed(0)).join(' | ')} |`);
    }
    print(`\n${rounds * pods} pods with ${versions} versions\n`);
    const figures: Figure[] = [];
    for (const [name, sizes] of seen) {
      const { before, after } = thirds(sizes);
      figures.push({ work: `churn of ${pods} pods`, what: name, value: after, unit: 'MiB', better: 'less' });
      // A development server compacts no history.
      if (name === 'etcd' && system.isDevelopment) continue;
      const what = `${name}: memory in the last third of the rounds, to that in the second`;
      print(judge(what, after / before, { atMost: MOST_GROWTH }, ' times'));
    }
    // A new process has little memory.
    for (const line of judgeRestarts(used())) print(line);
    return figures;
  });
}

/** The means of the second and of the last third. */
export function thirds(values: readonly number[]): { readonly before: number; readonly after: number } {
  const third = Math.floor(values.length / 3);
  const mean = (part: readonly number[]) => sumOf(part) / part.length;
  return { before: mean(values.slice(-2 * third, -third)), after: mean(values.slice(-third)) };
}

async function onHollowNodes<T>(
  { kubeconfig, services }: MeasuredSystem,
  nodes: number,
  print: Print,
  work: (api: HttpClient, parts: readonly Part[]) => Promise<T>,
): Promise<T> {
  using api = createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'bench' });
  return await withHollowNodes(api, { kubeconfig, nodes, print }, (pid) =>
    work(api, [...services, partOf('hollow nodes', [pid])]),
  );
}

async function oneWay(api: HttpClient, parts: readonly Part[], { nodes, pods }: WaySize): Promise<Way> {
  return await inOwnNamespace(api, async (namespace) => {
    const used = startMeter(parts);
    const { lastAtMs, versions, events } = await rollOut(api, namespace, pods);
    const uses = used();
    const costs = uses
      .map(({ name, cpuMs, hasRestarted }) => ({ name, ms: cpuMs / pods, hasRestarted }))
      .sort((one, other) => other.ms - one.ms);
    const known = costs.filter(({ hasRestarted }) => !hasRestarted);
    const isWhole = known.length === costs.length;
    const whole = sumOf(costs.map(({ ms }) => ms));
    const rate = (ms: number) => (pods / ms) * 1000;
    const shares = costs.filter(({ ms }) => ms >= 0.005).map(({ name, ms }) => `${name} ${ms.toFixed(2)}`);
    const work = `way of ${pods} pods on ${nodes} hollow nodes`;
    const cpu = (what: string, value: number): Figure => ({ work, what, value, unit: 'ms', better: 'less' });
    const columns = [
      ...[nodes, pods, rate(lastAtMs.created).toFixed(0), rate(lastAtMs.running).toFixed(0)],
      ...[
        `${isWhole ? '' : 'at least '}${whole.toFixed(2)} ms`,
        shares.join(', '),
        (versions / pods).toFixed(2),
        (events / pods).toFixed(2),
      ],
    ];
    return {
      line: `| ${columns.join(' | ')} |`,
      verdicts: judgeRestarts(uses),
      cpuMs: whole,
      figures: [
        { work, what: 'Running', value: rate(lastAtMs.running), unit: '/s', better: 'more' },
        ...(isWhole ? [cpu('CPU', whole)] : []),
        ...known.map(({ name, ms }) => cpu(`CPU of ${name}`, ms)),
      ],
    };
  });
}

/** Runs `work` in a namespace of its own, and waits until its pods are gone. */
function inOwnNamespace<T>(api: HttpClient, work: (namespace: string) => Promise<T>): Promise<T> {
  return inNamespace(api, `bench-way-${randomUUID()}`, async (namespace) => {
    const result = await work(namespace);
    await rollBack(api, namespace);
    return result;
  });
}
