import { once } from 'node:events';
import { Agent, get as httpsGet } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { readKubeconfig } from '@gantry/client';
import { freezeContainer } from '@gantry/base';
import { prepareContainers } from '@gantry/etcd/testing';
import { afterEach, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const { server, ca } = readKubeconfig(cluster.kubeconfig);
/** Connections that stay open: some to each API server. */
const KEPT = 6;
const NEW = 40;
/** What the load balancer logs when a server gets new connections again. */
const RELIEVED = /leaving forced drain|is UP, reason/;
/** What it logs when it ends connections. */
const ENDED = /The connections of apiservers\/\S+ end: it is silent/;
/** While another one is good, connections end after 5 s of silence. A busy engine notes lines late. */
const LEAST_SILENCE_MS = 4_000;

afterEach(async () => {
  for (const { id, state } of await cluster.containers('apiserver')) {
    if (state === 'paused') await cluster.docker(['unpause', id]);
  }
});

/** Whether the API answers over a connection of the agent, or over a new one; false when it is closed. */
async function answers(agent?: Agent): Promise<boolean> {
  const request = httpsGet(`${server}/readyz`, { ...(ca && { ca }), agent: agent ?? false });
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return (await text(response)) === 'ok';
  } catch {
    return false;
  }
}

/** What the load balancer has logged since then. */
async function logged(since: string): Promise<string> {
  const [balancer] = await cluster.containers('load-balancer');
  return await cluster.docker(['logs', '--since', since, balancer?.id ?? '']);
}

/** When the load balancer first logged such a line after that, as the engine noted it. */
async function loggedAt(since: string, what: RegExp): Promise<number | undefined> {
  const [balancer] = await cluster.containers('load-balancer');
  const lines = await cluster.docker(['logs', '--timestamps', '--since', since, balancer?.id ?? '']);
  const [time] =
    lines
      .split('\n')
      .find((line) => what.test(line))
      ?.split(' ') ?? [];
  return time === undefined ? undefined : Date.parse(time);
}

const untilEnded = (since: string) =>
  eventually('the load balancer logs that connections end', 30_000, async () => ENDED.test(await logged(since)));

test('a paused API server gets no new connections, keeps those that it has for a while, and gets new ones when it goes on', {
  timeout: 300_000,
}, async () => {
  const agents = Array.from({ length: KEPT }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  expect(await Promise.all(agents.map(answers))).toEqual(agents.map(() => true));
  const [paused] = await cluster.containers('apiserver');
  const [before = ''] = (await cluster.docker(['info', '-f', '{{.SystemTime}}'])).split('\n');
  await freezeContainer((await prepareContainers()).container.getById(paused?.id ?? ''));
  await eventually('the load balancer suspects it', 60_000, async () =>
    (await logged(before)).includes('enters drain state'),
  );

  // None hangs until the paused server's connections are closed, which would end it without an answer.
  const asked: boolean[] = [];
  for (let i = 0; i < NEW; i++) asked.push(await answers());
  // On a slow machine the other server may have been suspected, too: then both get new connections.
  const wasRelieved = (await logged(before)).includes('leaving forced drain');
  if (!wasRelieved) expect(asked).toEqual(asked.map(() => true));
  const kept = agents.map((agent) => answers(agent));
  await cluster.docker(['unpause', paused?.id ?? '']);
  const alive = await Promise.all(kept);
  expect(alive).toContain(true);
  // A slow machine may have been too late for those of the paused server. The engine passes on what is logged after the end is seen.
  if (alive.includes(false)) await untilEnded(before);

  await eventually('it gets new connections again', 60_000, async () =>
    RELIEVED.test((await logged(before)).split('enters drain state').at(-1) ?? ''),
  );
  for (const agent of agents) agent.destroy();
});

/**
 * Opens connections to all API servers that answer. On a slow machine the others may be suspected for a moment, too: then some connections lead to
 * a paused one, which ends them without an answer, and new ones are opened.
 */
async function openKept(): Promise<readonly Agent[]> {
  return await eventually('all connections answer', 120_000, async () => {
    const agents = Array.from({ length: KEPT }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const answered = await Promise.all(agents.map(answers));
    if (answered.every(Boolean)) return agents;
    for (const agent of agents) agent.destroy();
    return undefined;
  });
}

async function freeze(id: string): Promise<void> {
  await freezeContainer((await prepareContainers()).container.getById(id));
}

const now = async () => (await cluster.docker(['info', '-f', '{{.SystemTime}}'])).split('\n')[0] ?? '';
const DOWN = /Server apiservers\/\S+ is DOWN(?! \(leaving)/g;

test('API servers that are marked down together keep their connections and get new ones', {
  timeout: 300_000,
}, async () => {
  const [first, ...others] = await cluster.containers('apiserver');
  const before = await now();
  await freeze(first?.id ?? '');
  await eventually('the load balancer suspects the first one', 60_000, async () =>
    (await logged(before)).includes('enters drain state'),
  );
  // All of them to the others, which follow the first one.
  const agents = await openKept();
  for (const { id } of others) await freeze(id);
  await eventually(
    'the load balancer marks all of them down',
    120_000,
    async () => ((await logged(before)).match(DOWN) ?? []).length > others.length,
  );
  const kept = agents.map((agent) => answers(agent));
  const fresh = Array.from({ length: KEPT }, () => answers());
  const resumed = await now();
  await cluster.docker(['unpause', first?.id ?? '']);
  // It does not make the others' connections end at once.
  const upAt = await eventually('the first one is up again', 60_000, () => loggedAt(resumed, / is UP, reason/));
  for (const { id } of others) await cluster.docker(['unpause', id]);
  const answered = await Promise.all([...kept, ...fresh]);
  // A slow machine may have been too late for the others.
  if (answered.includes(false)) {
    await untilEnded(resumed);
    expect(((await loggedAt(resumed, ENDED)) ?? 0) - upAt).toBeGreaterThan(LEAST_SILENCE_MS);
  }
  for (const agent of agents) agent.destroy();
  await eventually(
    'they are up again',
    60_000,
    async () => ((await logged(before)).match(/ is UP, reason/g) ?? []).length > others.length,
  );
});

test('the connections of an API server that answers no check and sends nothing end while another one is good', {
  timeout: 300_000,
}, async () => {
  const [avoided, chosen] = await cluster.containers('apiserver');
  const before = await now();
  // What is suspected gets no new connections: all of the test's go to the other one.
  await freeze(avoided?.id ?? '');
  await eventually('the load balancer suspects the first one', 60_000, async () =>
    (await logged(before)).includes('enters drain state'),
  );
  const agents = await openKept();
  await cluster.docker(['unpause', avoided?.id ?? '']);
  await eventually('the first one gets new connections again', 60_000, async () =>
    RELIEVED.test((await logged(before)).split('enters drain state').at(-1) ?? ''),
  );

  await freeze(chosen?.id ?? '');
  // None hangs.
  const answered = await Promise.all(agents.map((agent) => answers(agent)));
  await untilEnded(before);
  await cluster.docker(['unpause', chosen?.id ?? '']);
  for (const agent of agents) agent.destroy();
  // On a slow machine both may have been suspected when the connections were opened: then the other one has some of them.
  expect(answered).toContain(false);
  await eventually('it is up again', 60_000, async () =>
    RELIEVED.test((await logged(before)).split(/is DOWN|enters drain state/).at(-1) ?? ''),
  );
});
