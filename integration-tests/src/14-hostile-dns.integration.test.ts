import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { ENDPOINT_SLICES, SERVICE_NAME_LABEL, SERVICES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { stallsOf, type TurnLimit } from './harness/stalls.ts';

const cluster = new Cluster();
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
beforeAll(async () => {
  namespace = await cluster.namespace();
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

const isThorough = Number(process.env['GANTRY_HOSTILE_REQUESTS'] ?? 0) >= 20_000;
/** Numbers of endpoints: `npm run hostile` shows how the time grows. */
const SIZES = isThorough ? [1000, 2000, 4000, 8000, 16_000] : [1000, 8000];
const QUESTIONS = 1000;
/** What the same questions may cost more of the largest Service: the cost would grow with the square of this before. */
const GROWTH = 3;
const TURN_LIMIT: TurnLimit = isThorough ? 0.1 : 0.25;
const SLICE_SIZE = 1000;
const PORTS = [
  { name: 'a', port: 80 },
  { name: 'b', port: 81 },
];
const [A, SRV] = [1, 33];

async function createHeadless(name: string, endpoints: number): Promise<void> {
  const [apiVersion, kind] = ['discovery.k8s.io/v1', 'EndpointSlice'];
  const spec = { clusterIP: 'None', ports: PORTS };
  await cluster.create(SERVICES, namespace.name, { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec });
  for (let first = 0; first < endpoints; first += SLICE_SIZE) {
    await cluster.create(ENDPOINT_SLICES, namespace.name, {
      apiVersion,
      kind,
      metadata: { name: `${name}-${first}`, labels: { [SERVICE_NAME_LABEL]: name } },
      addressType: 'IPv4',
      ports: PORTS,
      endpoints: Array.from({ length: SLICE_SIZE }, (_, at) => ({
        addresses: [`198.18.${(first + at) >> 8}.${(first + at) & 255}`],
      })),
    });
  }
}

interface Server {
  readonly address: string;
  readonly pid: number;
}

/** One of the DNS servers. */
async function findServer(): Promise<Server> {
  const [container] = (await cluster.containers('dns')).filter(({ state }) => state === 'running');
  const form = '{{.State.Pid}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  const [pid = '', address = ''] = (await cluster.docker(['inspect', '-f', form, container?.id ?? '']))
    .trim()
    .split(' ');
  return { address, pid: Number(pid) };
}

/** Processor time of a process in hundredths of a second. */
function cpuOf({ pid }: Server): number {
  const [, , , , , , , , , , , user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(user) + Number(system);
}

/** Spells the name differently for each number, so that no kept response answers. */
function spelled(name: string, number: number): string {
  return [...name]
    .map((letter, at) => (at < 20 && ((number >> at) & 1) === 1 ? letter.toUpperCase() : letter))
    .join('');
}

function question(name: string, type: number): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1]);
}

/** Asks one question after the other, each in another spelling. */
async function askAll(server: Server, name: string, type: number): Promise<void> {
  const socket = createSocket('udp4');
  try {
    for (let number = 0; number < QUESTIONS; number++) {
      socket.send(question(spelled(name, number), type), 53, server.address);
      await once(socket, 'message', { signal: AbortSignal.timeout(120_000) });
    }
  } finally {
    socket.close();
  }
}

test('questions about headless Services cost as much as is sent, whatever exists, and no turn is long', async () => {
  const server = await findServer();
  const resolver = new Resolver({ timeout: 30_000, tries: 2 });
  resolver.setServers([server.address]);
  const costs = new Map<number, number>();
  // The first questions compile the code.
  const before = { over: 0 };
  for (const [index, size] of [SIZES[0] ?? 0, ...SIZES].entries()) {
    const service = `many-${index}`;
    const name = `${service}.${namespace.name}.svc.cluster.local`;
    await createHeadless(service, size);
    await eventually(`${size} endpoints have names`, 120_000, async () => {
      const last = `198-18-${(size - 1) >> 8}-${(size - 1) & 255}`;
      return (await resolver.resolve4(`${last}.${name}`)).length === 1;
    });
    const start = cpuOf(server);
    await askAll(server, name, A);
    await askAll(server, name, SRV);
    await askAll(server, `_a._tcp.${name}`, SRV);
    await askAll(server, `_tcp.${name}`, SRV);
    costs.set(size, cpuOf(server) - start);
    // Over TCP, with as much as a message holds.
    expect((await resolver.resolve4(name)).length).toBeGreaterThanOrEqual(Math.min(size, 4000));
    expect((await resolver.resolveSrv(`_a._tcp.${name}`)).length).toBeGreaterThan(500);
    if (index === 0) before.over = await turnsOverLimit();
  }
  const shown = [...costs].map(([size, cpu]) => `${size} endpoints ${cpu * 10} ms`);
  process.stdout.write(`CPU of the DNS for ${4 * QUESTIONS} questions: ${shown.join(', ')}\n`);
  const longest = (await stallsOf(cluster, 'dns', TURN_LIMIT)).map(
    ({ container, longest: { cpu } }) => `${container} ${cpu} s`,
  );
  process.stdout.write(`longest turns of the DNS: ${longest.join(', ')}\n`);
  const smallest = costs.get(SIZES[0] ?? 0) ?? 0;
  expect(costs.get(SIZES.at(-1) ?? 0)).toBeLessThan(GROWTH * smallest);
  expect((await turnsOverLimit()) - before.over).toBe(0);
});

async function turnsOverLimit(): Promise<number> {
  return (await stallsOf(cluster, 'dns', TURN_LIMIT)).reduce((sum, { overLimit }) => sum + overLimit, 0);
}
