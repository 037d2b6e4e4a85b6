import type { NetworkPolicySpec } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { ANSWER_MS, ServicePods } from '../harness/service-pods.ts';

const cluster = new Cluster();
/** Far more than it takes: on a machine that does much else, programs take a minute to start. */
const SOON_MS = 300_000;
/**
 * How long an answer may take at first, and at most. What is closed never answers, so that each closed target takes as long; on a machine
 * that does much else answers need more.
 */
const SAMPLE_MS = 1000;
const MAX_SAMPLE_MS = 16_000;
/** `db` is guarded; `web` and `other` are in its namespace, `far` is in another one. */
let near: Awaited<ReturnType<Cluster['namespace']>>;
let away: Awaited<ReturnType<Cluster['namespace']>>;
let pods: ServicePods;
let farPods: ServicePods;
let dbAddress: string;
let serviceAddress: string;

beforeAll(async () => {
  near = await cluster.namespace();
  away = await cluster.namespace();
  pods = new ServicePods(cluster, near.name);
  farPods = new ServicePods(cluster, away.name);
  const [first = '', second = ''] = (await cluster.nodes()).map(({ metadata }) => metadata.name ?? '');
  // A policy that is there before its pod.
  await apply('deny', { podSelector: { matchLabels: { app: 'db' } } });
  await Promise.all([
    pods.server('db', first),
    pods.server('web', second),
    pods.server('other', first),
    farPods.server('far', second),
  ]);
  await Promise.all([...['db', 'web', 'other'].map((name) => pods.untilReady(name)), farPods.untilReady('far')]);
  dbAddress = await kubectl('get', 'pod', 'db', '-o=jsonpath={.status.podIP}');
  await kubectl('expose', 'pod', 'db', '--port=80', '--target-port=web');
  serviceAddress = await kubectl('get', 'service', 'db', '-o=jsonpath={.spec.clusterIP}');
});
afterAll(async () => {
  await near[Symbol.asyncDispose]();
  await away[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', near.name, ...args]);

async function apply(name: string, spec: NetworkPolicySpec): Promise<void> {
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name }, spec };
  await cluster.mustKubectl(['-n', near.name, 'apply', '-f', '-'], { input: JSON.stringify(policy) });
}

const CLIENTS = ['web', 'other', 'far'] as const;
type Client = (typeof CLIENTS)[number];

/**
 * Prints of each target whether it answers in time. A sample counts only if the pod answers itself in the same time: a slow machine is not a
 * closed target, and has twice the time in the next sample.
 */
const PROBE = `
const http = require('http');
const probe = (timeout) => (target) => new Promise((resolve) => {
  const request = http.get('http://' + target + '/', { agent: false, timeout }, (response) => {
    response.resume().on('end', () => resolve(true));
  });
  request.on('timeout', () => request.destroy()).on('error', () => resolve(false));
});
const [first, most, ...targets] = process.argv.slice(1);
(async () => {
  for (let timeout = Number(first); timeout <= Number(most); timeout *= 2) {
    const [isQuick, ...open] = await Promise.all(['127.0.0.1:8080', ...targets].map(probe(timeout)));
    if (isQuick) return console.log(JSON.stringify(open));
  }
  console.log('null');
})();
`;

async function reaches(client: Client, targets: readonly string[]): Promise<readonly boolean[]> {
  const from = client === 'far' ? farPods : pods;
  const text = await from.run(client, PROBE, [String(SAMPLE_MS), String(MAX_SAMPLE_MS), ...targets]);
  const open = JSON.parse(text) as readonly boolean[] | null;
  if (open === null) throw new Error('the machine is too slow to tell');
  return open;
}

/** From the Node, which no policy keeps away. */
async function dbAnswersNode(): Promise<boolean> {
  try {
    const response = await fetch(`http://${dbAddress}:8080/`, { signal: AbortSignal.timeout(MAX_SAMPLE_MS) });
    return (await response.text()) !== '';
  } catch {
    return false;
  }
}

/** Waits until these clients reach the pod, by its address and by its Service, and the others by neither, while the pod serves its Node. */
async function untilOpenFor(...clients: readonly Client[]): Promise<void> {
  await eventually(`open for ${clients.join(', ') || 'no client'}`, SOON_MS, async () => {
    const targets = [`${dbAddress}:8080`, `${serviceAddress}:80`];
    const [isServing, ...open] = await Promise.all([
      dbAnswersNode(),
      ...CLIENTS.map(async (client) => await reaches(client, targets)),
    ]);
    if (!isServing) throw new Error('the pod does not answer its Node');
    const wrong = CLIENTS.filter((client, i) => open[i]?.some((isOpen) => isOpen !== clients.includes(client)));
    if (wrong.length === 0) return true;
    throw new Error(`wrong: ${wrong.join(', ')} in ${JSON.stringify(open)}`);
  });
}

async function addressOf(name: string): Promise<string> {
  return await kubectl('get', 'pod', name, '-o=jsonpath={.status.podIP}');
}

const DB = { podSelector: { matchLabels: { app: 'db' } } };
const WEB = { podSelector: { matchLabels: { app: 'web' } } };

test('a policy without rules closes a pod to all but its Node, whose probes go on, and itself', async () => {
  await untilOpenFor();
  // It became ready by a probe of its Node's agent. The host is where all Nodes are.
  const response = await fetch(`http://${dbAddress}:8080/`, { signal: AbortSignal.timeout(ANSWER_MS) });
  expect(await response.text()).toMatch(/^db /);
  await eventually('it reaches itself through its Service', SOON_MS, async () =>
    /^db /.test((await pods.ask('db', serviceAddress))[0] ?? ''),
  );
  // Its own connections, and the replies to them, pass.
  expect(await pods.ask('db', `${await addressOf('web')}:8080`, 1, ANSWER_MS)).toEqual([
    expect.stringMatching(/^web /),
  ]);
  expect(await pods.askUdp('web', dbAddress, 9053, 0)).toBe('TIMEOUT');
});

test('peers are pods by their labels, namespaces by theirs, and both', async () => {
  await apply('allow', { ...DB, ingress: [{ from: [WEB] }] });
  await untilOpenFor('web');
  await kubectl('label', 'pod', 'other', 'app=web', '--overwrite');
  await untilOpenFor('web', 'other');
  await kubectl('label', 'pod', 'other', 'app=other', '--overwrite');
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': away.name } };
  await apply('allow', { ...DB, ingress: [{ from: [{ namespaceSelector }] }] });
  await untilOpenFor('far');
  await apply('allow', { ...DB, ingress: [{ from: [{ namespaceSelector, ...WEB }, WEB] }] });
  await untilOpenFor('web');
  await cluster.mustKubectl(['-n', away.name, 'label', 'pod', 'far', 'app=web', '--overwrite']);
  await untilOpenFor('web', 'far');
});

test('blocks with exceptions, ports, ranges of ports and named ports', async () => {
  const [web, other] = [await addressOf('web'), await addressOf('other')];
  const cidr = '0.0.0.0/0';
  await apply('allow', { ...DB, ingress: [{ from: [{ ipBlock: { cidr, except: [`${web}/32`] } }] }] });
  await untilOpenFor('other', 'far');
  const ipBlock = { cidr: `${other}/32` };
  await apply('allow', { ...DB, ingress: [{ from: [{ ipBlock }], ports: [{ port: 8080 }] }] });
  await untilOpenFor('other');
  await apply('allow', { ...DB, ingress: [{ ports: [{ port: 8081 }] }] });
  await untilOpenFor();
  await apply('allow', { ...DB, ingress: [{ from: [WEB], ports: [{ port: 8000, endPort: 8080 }] }] });
  await untilOpenFor('web');
  await apply('allow', { ...DB, ingress: [{ from: [{ ipBlock }], ports: [{ port: 'web' }] }] });
  await untilOpenFor('other');
  await apply('allow', { ...DB, ingress: [{ ports: [{ port: 9053, protocol: 'UDP' }] }] });
  await untilOpenFor();
  await eventually('UDP passes', SOON_MS, async () => /^db /.test(await pods.askUdp('web', dbAddress, 9053, 0)));
});

test('egress is judged where the packet goes after its Service, and as well as ingress', async () => {
  await apply('allow', { ...DB, ingress: [{}] });
  await untilOpenFor('web', 'other', 'far');
  await apply('egress', { ...WEB, policyTypes: ['Egress'] });
  await untilOpenFor('other', 'far');
  await apply('egress', { ...WEB, policyTypes: ['Egress'], egress: [{ to: [DB], ports: [{ port: 'web' }] }] });
  await untilOpenFor('web', 'other', 'far');
  const other = await addressOf('other');
  expect(await reaches('web', [`${other}:8080`])).toEqual([false]);
  await kubectl('delete', 'networkpolicy', 'allow');
  await untilOpenFor();
});

/** Sends requests on one connection until it is told to stop; prints how many were not answered, and the number of connections. */
const STAY = `
const http = require('http');
const sockets = new Set();
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const ask = () => new Promise((resolve) => {
  const request = http.get(process.argv[1], { agent, timeout: 60000 }, (response) => {
    response.resume().on('end', () => resolve(1));
  });
  request.on('socket', (socket) => sockets.add(socket));
  request.on('timeout', () => request.destroy()).on('error', () => resolve(0));
});
(async () => {
  const fs = require('fs');
  let [asked, answered] = [0, 0];
  while (!fs.existsSync('/tmp/stop')) {
    answered += await ask();
    asked += 1;
    // Replaced as a whole: it is read at any time.
    fs.writeFileSync('/tmp/asked.next', String(asked));
    fs.renameSync('/tmp/asked.next', '/tmp/asked');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  console.log(asked - answered, sockets.size);
  process.exit();
})();
`;

/** Prints how many requests were sent. */
const ASKED =
  "const fs = require('fs'); console.log(fs.existsSync('/tmp/asked') ? fs.readFileSync('/tmp/asked', 'utf8') : 0)";
const STOP = "require('fs').writeFileSync('/tmp/stop', '')";

test('what is deleted is no longer enforced; connections from before a policy go on', async () => {
  await kubectl('delete', 'networkpolicy', '--all');
  await untilOpenFor('web', 'other', 'far');
  expect(await pods.ask('web', `${await addressOf('other')}:8080`, 1, ANSWER_MS)).toEqual([
    expect.stringMatching(/^other /),
  ]);
  const staying = pods.run('other', STAY, [`http://${dbAddress}:8080/`]);
  const asked = async () => Number(await pods.run('other', ASKED, []));
  try {
    await eventually('it has connected', SOON_MS, async () => (await asked()) > 0);
    await apply('deny', DB);
    await untilOpenFor();
    const before = await asked();
    await eventually('it goes on under the policy', SOON_MS, async () => (await asked()) >= before + 10);
  } finally {
    await pods.run('other', STOP, []);
  }
  expect(await staying).toBe('0 1');
});
