import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_MAPS } from '@gantry/objects';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
const SOON_MS = 120_000;
const port = /^GANTRY_CONSOLE_PORT=(\d+)$/m.exec(readFileSync(join(cluster.home, 'env'), 'utf8'))?.[1] ?? '';
const origin = `http://127.0.0.1:${port}`;

/** A browser that has signed in. */
interface Browser {
  readonly user: string;
  readonly cookie: string;
  readonly csrf: string;
}

let administrator: Browser;

async function signIn(credential: object): Promise<Browser> {
  const response = await fetch(`${origin}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify(credential),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return { ...((await response.json()) as { readonly user: string; readonly csrf: string }), cookie };
}

async function oneTimeCode(): Promise<string> {
  const { code, stdout, stderr } = await runProgram(join(cluster.root, 'deploy/bin/console'), [], {
    env: { GANTRY_HOME: cluster.home, DISPLAY: '', WAYLAND_DISPLAY: '' },
  });
  if (code !== 0) throw new Error(`console ended with ${code}: ${stderr}`);
  return /#code=(\S+)/.exec(stdout)?.[1] ?? '';
}

function ask(browser: Browser, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { cookie: browser.cookie, 'x-csrf-token': browser.csrf, ...(init.headers as Record<string, string>) };
  return fetch(`${origin}/kubernetes${path}`, { ...init, headers });
}

async function read<T>(path: string): Promise<T> {
  const response = await ask(administrator, path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** A WebSocket of the page, with what has arrived so far. */
function connect(path: string, protocols: string[] = []) {
  const headers = { cookie: administrator.cookie, origin };
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/kubernetes${path}`, { protocols, headers });
  socket.binaryType = 'arraybuffer';
  onTestFinished(() => socket.close());
  const messages: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    messages.push(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString());
  });
  return { socket, messages };
}

beforeAll(async () => {
  administrator = await signIn({ code: await oneTimeCode() });
});

test('the link of the command signs in once, as an account with the right to everything', async () => {
  expect(administrator.user).toBe('system:serviceaccount:kube-system:console-administrator');
  const code = await oneTimeCode();
  expect((await signIn({ code })).user).toBe(administrator.user);
  await expect(signIn({ code })).rejects.toThrow('401');
});

test('the page lists, watches and writes, and runs a command in a pod', async () => {
  await using namespace = await cluster.namespace();
  const path = `/api/v1/namespaces/${namespace.name}/configmaps`;
  const { metadata } = await read<{ readonly metadata: { readonly resourceVersion: string } }>(path);
  const { messages } = connect(`${path}?watch=1&resourceVersion=${metadata.resourceVersion}`);
  const body = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'of-the-page' },
    data: { a: 'b' },
  });
  const headers = { 'content-type': 'application/json' };
  expect((await ask(administrator, path, { method: 'POST', headers, body })).status).toBe(201);
  await eventually('the watch shows it', SOON_MS, () => Promise.resolve(messages.length > 0));
  expect(JSON.parse(messages[0] ?? '')).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'of-the-page' } } });
  const made = await cluster.get(CONFIG_MAPS, namespace.name, 'of-the-page');
  expect(made.metadata.managedFields?.[0]?.manager).toBe('gantry-console');

  const [pod] = await cluster.pods('default', 'app=nginx');
  const command = ['echo', 'hello from the pod'].map((word) => `command=${encodeURIComponent(word)}`).join('&');
  const exec = `/api/v1/namespaces/default/pods/${pod?.metadata.name}/exec?stdout=1&${command}`;
  const terminal = connect(exec, ['v5.channel.k8s.io']);
  await eventually('the command has written', SOON_MS, () =>
    Promise.resolve(terminal.messages.join('').includes('hello from the pod\n')),
  );
});

test('a user with few rights is refused by the API server', async () => {
  await using namespace = await cluster.namespace();
  const token = (await cluster.mustKubectl(['create', 'token', 'default', '-n', namespace.name])).trim();
  const browser = await signIn({ token });
  expect(browser.user).toBe(`system:serviceaccount:${namespace.name}:default`);
  for (const path of ['/api/v1/pods', '/gantry/v1/leaders']) expect((await ask(browser, path)).status).toBe(403);
});

test('what the control plane does', async () => {
  interface Candidate {
    readonly state?: string;
    readonly identity: string;
    readonly term?: { readonly epoch: number; readonly electedAt: string };
  }
  // Tests before have killed some of them.
  await eventually('each component has a leader and another candidate', SOON_MS, async () => {
    const { leaders } = await read<{ leaders: { component: string; epoch: number; candidates: Candidate[] }[] }>(
      '/gantry/v1/leaders',
    );
    for (const name of ['kube-scheduler', 'kube-controller-manager']) {
      const found = leaders.find(({ component }) => component === name);
      const states = found?.candidates.map(({ state }) => state).toSorted();
      expect([name, states]).toEqual([name, ['leading', 'standby']]);
      const leading = found?.candidates.find(({ state }) => state === 'leading');
      expect(leading?.term?.epoch).toBe(found?.epoch);
    }
    return true;
  });
  await using namespace = await cluster.namespace();
  const of = ['-n', namespace.name];
  await cluster.mustKubectl(['create', 'deployment', 'web', '--image=busybox:1.36', ...of, '--', 'sleep', '3600']);
  await cluster.untilRolledOut(namespace.name, 'web');
  // A process that does not respond within two seconds is left out.
  await eventually('the decisions about it are shown', SOON_MS, async () => {
    const { processes } = await read<{ processes: { loops: { decisions: unknown[] }[] }[] }>(
      '/gantry/v1/loops?component=kube-controller-manager&loop=deployment',
    );
    expect(processes.flatMap(({ loops }) => loops.flatMap(({ decisions }) => decisions))).toContainEqual(
      expect.objectContaining({
        key: { namespace: namespace.name, name: 'web' },
        writes: expect.arrayContaining([expect.objectContaining({ verb: 'create', resource: 'replicasets' })]),
        events: expect.arrayContaining([expect.objectContaining({ reason: 'ScalingReplicaSet' })]),
      }),
    );
    const { decisions } = await read<{ decisions: object[] }>(`/gantry/v1/scheduling?namespace=${namespace.name}`);
    const [pod] = await cluster.pods(namespace.name);
    expect(decisions).toEqual([
      expect.objectContaining({
        outcome: 'assigned',
        node: pod?.spec?.nodeName,
        pod: { namespace: namespace.name, name: pod?.metadata.name, uid: pod?.metadata.uid },
      }),
    ]);
    return true;
  });
  await eventually('all members of etcd are healthy, and all API servers are reached', SOON_MS, async () => {
    const { members } = await read<{ members: object[] }>('/gantry/v1/etcd');
    expect(members).toHaveLength(3);
    for (const member of members) expect(member).toMatchObject({ state: 'healthy', raftTerm: expect.any(Number) });
    const { apiservers, unreachable } = await read<{ apiservers: object[]; unreachable: object[] }>(
      '/gantry/v1/apiservers',
    );
    expect([apiservers.length, unreachable]).toEqual([2, []]);
    return true;
  });
});

test('a list at each version of the history, and none at an older one', async () => {
  interface Version {
    readonly resourceVersion: string;
  }
  const at = async (version: number | string) =>
    (await ask(administrator, `/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=${version}`)).status;
  // History is forgotten all the time: what was the oldest version may be gone.
  const oldest = await eventually('a list at each version', SOON_MS, async () => {
    const history = await read<{ oldest: Version; newest: Version; marks: Version[] }>('/gantry/v1/history');
    for (const { resourceVersion } of [history.oldest, history.newest, ...history.marks.slice(0, 3)])
      expect([resourceVersion, await at(resourceVersion)]).toEqual([resourceVersion, 200]);
    return history.oldest;
  });
  const before = Number(oldest.resourceVersion) - 512;
  if (before > 0) expect(await at(before)).toBe(410);
});

test('a session outlives a restart of the API servers: streams end, and requests succeed again', async () => {
  const { socket } = connect('/api/v1/pods?watch=1');
  const opened = new Promise((resolve) => socket.addEventListener('open', resolve));
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  await opened;
  const servers = (await cluster.containers('apiserver')).map(({ id }) => id);
  await cluster.docker(['kill', ...servers]);
  await closed;
  const away = await ask(administrator, '/api/v1/namespaces');
  expect([away.status, await away.json()]).toMatchObject([503, { kind: 'Status', reason: 'ServiceUnavailable' }]);
  expect((await fetch(`${origin}/session`, { headers: { cookie: administrator.cookie } })).status).toBe(200);
  await cluster.docker(['start', ...servers]);
  await eventually('the API answers', SOON_MS, async () => (await ask(administrator, '/api/v1/namespaces')).ok);
  expect((await fetch(`${origin}/session`, { headers: { cookie: administrator.cookie } })).status).toBe(200);
});
