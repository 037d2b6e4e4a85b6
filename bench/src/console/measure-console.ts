import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { isReason, NAMESPACES, NODES, PODS } from '@gantry/objects';
import { deadline } from '../cluster.ts';
import { createPods, isHollow, NAMESPACE, pod, PODS_A_NODE, until, untilRunning, withHollowNodes } from '../hollow.ts';
import { judge } from '../limits.ts';
import { judgeRestarts, type PartUse, startMeter } from '../parts.ts';
import { rssMib, sumOf } from '../processes.ts';
import { quantile } from '../statistics.ts';
import { MeasuredPage } from './page.ts';
import type { MeasuredConsole } from './target.ts';
import { watchDirectly, watchThroughConsole, type Watches } from './viewers.ts';

interface Options {
  readonly nodes: number;
  /** How long the page is watched while objects change. */
  readonly minutes: number;
  readonly print: (line: string) => void;
}

const VIEWERS = 10;
/** Of one line of the costs. */
const COST_MS = 30_000;
const SETTLE_MS = 5_000;
/** Of a busy cluster. */
const WRITES_A_SECOND = 16;
/** Of so many writes, one replaces a pod: it ends, and another one of its name starts. The others change a label. */
const WRITES_A_REPLACEMENT = 8;
const SAMPLES = 6;
const REMOVAL_MS = 600_000;
const SCROLLS = { turns: 50, px: 2000 };
/** Of what is kept for each pod that is gone. */
const MOST_GROWTH = 1.5;
const ACCOUNT = { namespace: NAMESPACE, name: 'viewer' };
const BINDING = 'gantry-bench-console';
const RBAC = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

/** The page with many nodes, ten pods each, that change: first view, frames, memory; and what viewers cost the console and API servers. */
export async function measureConsole(measured: MeasuredConsole, { nodes, minutes, print }: Options): Promise<void> {
  execFileSync('sh', ['deploy/bin/ensure-chromium'], { stdio: 'inherit' });
  const { kubeconfig } = measured;
  using api = createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'bench' });
  try {
    await withHollowNodes(api, { kubeconfig, nodes, print }, async () => {
      await createPods(api, nodes);
      await untilRunning(api);
      print(`- ${nodes * PODS_A_NODE} pods run, on ${measured.what}`);
      const token = await tokenOfViewer(api);
      const churn = new Churn(api, nodes);
      await measurePage({ measured, token, churn, nodes, minutes, print });
      await measureCosts({ measured, api, token, churn, print });
      await removePods(api);
    });
  } finally {
    await removeRest(api);
  }
}

interface PageOptions extends Options {
  readonly measured: MeasuredConsole;
  readonly token: string;
  readonly churn: Churn;
}

async function measurePage({ measured, token, churn, nodes, minutes, print }: PageOptions): Promise<void> {
  const pods = nodes * PODS_A_NODE;
  const serviceMib = () => sumOf(measured.parts.console.pids.map(rssMib));
  await using page = await MeasuredPage.signIn(measured.origin, token);
  const view = `/?ns=${NAMESPACE}`;
  const first = await page.open(view, new RegExp(`${pods} pods`));
  print(
    `- first view: ${(first.fileBytes / 1000).toFixed(0)} kB of files, painted after ${first.paintMs.toFixed(0)} ms, all pods after ${first.completeMs.toFixed(0)} ms`,
  );
  const before = { heap: await page.heapMib(), service: serviceMib() };
  await page.takeFrames();
  const seconds = (minutes * 60) / SAMPLES;
  print(
    `\n| picture, ${WRITES_A_SECOND} writes/s | frames p50 | p99 | longest | heap of the page | memory of the console |`,
  );
  print('| --- | --- | --- | --- | --- | --- |');
  const after = await churn.during(async () => {
    let [heap, service] = [Number.NaN, Number.NaN];
    for (let sample = 1; sample <= SAMPLES; sample++) {
      await delay(seconds * 1000);
      const frames = framesIn(await page.takeFrames());
      [heap, service] = [await page.heapMib(), serviceMib()];
      print(
        `| after ${((sample * seconds) / 60).toFixed(1)} min | ${frames} | ${heap.toFixed(0)} MiB | ${service.toFixed(0)} MiB |`,
      );
      // A collection of all garbage stops the page: that is no frame of its own.
      await page.takeFrames();
    }
    await page.open(`/objects/pods?ns=${NAMESPACE}`, / live$/);
    await page.scroll(SCROLLS.turns, SCROLLS.px);
    print(`| table, scrolled | ${framesIn(await page.takeFrames())} | ${(await page.heapMib()).toFixed(0)} MiB | |`);
    return { heap, service };
  });
  print('');
  print(`- heap of the page ${before.heap.toFixed(0)} MiB at the start, ${after.heap.toFixed(0)} MiB at the end`);
  print(
    `- memory of the console ${before.service.toFixed(0)} MiB at the start, ${after.service.toFixed(0)} MiB at the end`,
  );
  await untilAll(churn, pods);
  const table = await page.open(`/objects/pods?ns=${NAMESPACE}`, `${pods} · live`);
  const filterMs = await page.filter(`pod-${pods - 1}`, `1 of ${pods}`);
  print(`- table of all pods: ${table.completeMs.toFixed(0)} ms; one of them by the filter: ${filterMs.toFixed(0)} ms`);
  print(judge('heap at the end, in heaps at the start', after.heap / before.heap, { atMost: MOST_GROWTH }, ''));
}

const untilAll = (churn: Churn, pods: number) => until(async () => (await churn.podCount()) === pods);

function framesIn(frames: readonly number[]): string {
  const of = (share: number) => `${quantile(frames, share).toFixed(0)} ms`;
  return [of(0.5), of(0.99), of(1)].join(' | ');
}

interface CostOptions {
  readonly measured: MeasuredConsole;
  readonly api: HttpClient;
  readonly token: string;
  readonly churn: Churn;
  readonly print: (line: string) => void;
}

async function measureCosts({ measured, api, token, churn, print }: CostOptions): Promise<void> {
  const { origin, parts, kubeconfig } = measured;
  const viewers = VIEWERS;
  const cases: readonly (readonly [string, () => Promise<Watches | undefined>])[] = [
    ['no viewer', () => Promise.resolve(undefined)],
    [`${viewers} viewers`, () => watchThroughConsole(api, { origin, token, viewers })],
    [
      'the same watches without the console',
      () => watchDirectly(api, { target: readKubeconfig(kubeconfig), token, viewers }),
    ],
  ];
  print(
    `\n| viewers, ${WRITES_A_SECOND} writes/s | watches | memory of the console | its processor time | that of the API servers |`,
  );
  print('| --- | --- | --- | --- | --- |');
  const allUses: PartUse[] = [];
  for (const [name, open] of cases)
    await churn.during(async () => {
      using watches = await open();
      await delay(SETTLE_MS);
      const used = startMeter([parts.console, parts.apiserver]);
      await delay(COST_MS);
      const uses = used();
      allUses.push(...uses);
      if (watches !== undefined && watches.ended > 0) throw new Error(`${watches.ended} watches of ${name} have ended`);
      const percents = uses.map(({ cpuMs }) => `${((cpuMs / COST_MS) * 100).toFixed(1)} %`);
      const memory = sumOf(parts.console.pids.map(rssMib)).toFixed(0);
      print(`| ${name} | ${watches?.count ?? 0} | ${memory} MiB | ${percents.join(' | ')} |`);
    });
  for (const line of ['', ...judgeRestarts(allUses)]) print(line);
}

/** Changes pods at a steady rate. */
class Churn {
  readonly #api: HttpClient;
  readonly #nodes: number;
  #next = 0;

  constructor(api: HttpClient, nodes: number) {
    this.#api = api;
    this.#nodes = nodes;
  }

  async podCount(): Promise<number> {
    const options = { namespace: NAMESPACE, fieldSelector: 'status.phase=Running', metadataOnly: true };
    return (await this.#api.list(PODS, options, deadline())).items.length;
  }

  /** Makes changes while `work` runs, and fails with the first change that fails. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const stop = new AbortController();
    const changing = this.#run(stop.signal);
    try {
      // A change that fails ends the measurement at once.
      return await Promise.race([work(), changing.then(() => new Promise<never>(() => {}))]);
    } finally {
      stop.abort();
      await changing;
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    for (let count = 1; !signal.aborted; count++) {
      await this.#change();
      const waitMs = startedAt + (count * 1000) / WRITES_A_SECOND - performance.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #change(): Promise<void> {
    const index = this.#next % (this.#nodes * PODS_A_NODE);
    this.#next++;
    const key = { namespace: NAMESPACE, name: `pod-${index}` };
    if (this.#next % WRITES_A_REPLACEMENT !== 0) {
      const merge = { metadata: { labels: { tick: String(this.#next) } } };
      await this.#api.patch(PODS, key, { merge }, deadline());
      return;
    }
    await this.#api.delete(PODS, key, { gracePeriodSeconds: 0 }, deadline());
    await this.#api.create(PODS, pod(index, this.#nodes), deadline());
  }
}

/** A token of a ServiceAccount that may read everything. */
async function tokenOfViewer(api: HttpClient): Promise<string> {
  const post = (path: string, object: object) =>
    api.raw({ method: 'POST', path, contentType: 'application/json', body: JSON.stringify(object) }, deadline());
  const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
  await post(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: ACCOUNT });
  await post(RBAC, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: BINDING },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', ...ACCOUNT }],
  });
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 12 * 3600 },
  };
  const text = await post(`${accounts}/${ACCOUNT.name}/token`, request);
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token;
}

/** Nodes must still be there: they say when their pods have ended. */
async function removePods(api: HttpClient): Promise<void> {
  await api.raw(
    { method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/pods?gracePeriodSeconds=0` },
    deadline(REMOVAL_MS),
  );
  await until(async () => (await api.list(PODS, { namespace: NAMESPACE, limit: 1 }, deadline())).items.length === 0);
}

async function removeRest(api: HttpClient): Promise<void> {
  const { items } = await api.list(NODES, { metadataOnly: true }, deadline());
  for (const { metadata } of items.filter(isHollow))
    await gone(api.delete(NODES, { namespace: '', name: metadata.name ?? '' }, {}, deadline()));
  await gone(api.raw({ method: 'DELETE', path: `${RBAC}/${BINDING}` }, deadline()));
  await gone(api.delete(NAMESPACES, { namespace: '', name: NAMESPACE }, {}, deadline()));
}

async function gone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}
