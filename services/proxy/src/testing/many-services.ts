/**
 * Measures the cost of thousands of Services on one host, for `npm run bench -- network`. It uses real rules and packets in network
 * namespaces, and objects from this process instead of an API server. A second host with a single Service runs beside it, so that rounds
 * alternate. It writes ManyServices as JSON. Run it with `node --conditions=gantry-source services/proxy/src/testing/many-services.ts
 * SERVICES ENDPOINTS_OF_EACH`.
 */
import { must } from '@gantry/base';
import { ENDPOINT_SLICES, type EndpointSlice, formatIpv4, parseIpv4, SERVICES, type Service } from '@gantry/objects';
import { type Given, Lab, type LabHost, type Place } from './network-lab.ts';
import { endpoint, service, slice } from './services.ts';

interface ManyServices {
  /** The time from the first object to the accepted transaction, and nft's part of it. */
  readonly load: { readonly tookMs: number; readonly nftMs: number };
  /** The milliseconds from the object to the accepted transaction, for changes of one slice that loses or gains an endpoint. */
  readonly changesMs: readonly number[];
  /**
   * The milliseconds of new connections: through the only Service of a host, through the last of many Services, and without a Service.
   */
  readonly connectsMs: Readonly<Record<'alone' | 'amongAll' | 'direct', readonly number[]>>;
}

const CHANGES = 50;
const ROUNDS = 5;
const ROUND_MS = 2000;
const POD = 1100;
const PORT = 8080;
const FIRST_CLUSTER_ADDRESS = must(parseIpv4('10.96.0.10'), 'an address');
/** From here on, all addresses of the pod range are endpoints without a pod. */
const FIRST_ENDPOINT = must(parseIpv4('10.128.1.0'), 'an address');

function objectsOf(index: number, addresses: readonly string[]): readonly [Service, EndpointSlice] {
  const name = `web-${index}`;
  const one = service({ clusterIP: formatIpv4(FIRST_CLUSTER_ADDRESS + index) });
  const its = slice(addresses.map((address) => endpoint(address)));
  const labels = { 'kubernetes.io/service-name': name };
  return [
    { ...one, metadata: { ...one.metadata, name } },
    { ...its, metadata: { ...its.metadata, name: `${name}-1`, labels } },
  ];
}

function given([one, its]: readonly [Service, EndpointSlice]): readonly Given[] {
  return [
    { resource: SERVICES, object: one },
    { resource: ENDPOINT_SLICES, object: its },
  ];
}

/** Returns the milliseconds of changes of one Service. Each change is written before the next one starts. */
async function change(host: LabHost, index: number, addresses: readonly string[]): Promise<readonly number[]> {
  const times: number[] = [];
  let [, before] = objectsOf(index, addresses);
  for (let round = 0; round < CHANGES; round++) {
    const [, after] = objectsOf(index, round % 2 === 0 ? addresses.slice(1) : addresses);
    host.take(ENDPOINT_SLICES, after, before);
    before = after;
    times.push((await host.written()).tookMs);
  }
  return times;
}

interface Pair {
  readonly client: Place;
  readonly server: Place;
}

async function podsOf(host: LabHost): Promise<Pair> {
  const server = await host.pod(POD);
  await server.listen(PORT);
  return { client: await host.pod(POD + 1), server };
}

async function measure(lab: Lab, services: number, endpoints: number): Promise<ManyServices> {
  const [small, large] = [await lab.host(1), await lab.host(2)];
  const [alone, among] = [await podsOf(small), await podsOf(large)];
  const addressesOf = (index: number) =>
    Array.from({ length: endpoints }, (_, n) => formatIpv4(FIRST_ENDPOINT + index * endpoints + n));
  const last = services - 1;
  small.start(given(objectsOf(0, [alone.server.address])));
  large.start(
    Array.from({ length: services }, (_, index) =>
      given(objectsOf(index, index === last ? [among.server.address] : addressesOf(index))),
    ).flat(),
  );
  await small.written();
  const load = await large.written();
  const changesMs = await change(large, 0, addressesOf(0));
  const ways = [
    ['alone', alone.client, formatIpv4(FIRST_CLUSTER_ADDRESS), 80],
    ['amongAll', among.client, formatIpv4(FIRST_CLUSTER_ADDRESS + last), 80],
    ['direct', alone.client, alone.server.address, PORT],
  ] as const;
  const connectsMs = { alone: [] as number[], amongAll: [] as number[], direct: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, client, address, port] of ways) {
      const times = await client.connectAgain(address, port, ROUND_MS);
      // In the first round the code is not compiled yet.
      if (round > 0) connectsMs[name].push(...times);
    }
  }
  return { load, changesMs, connectsMs };
}

const [services = 0, endpoints = 0] = process.argv.slice(2).map(Number);
const lab = new Lab();
await lab.open();
try {
  process.stdout.write(`${JSON.stringify(await measure(lab, services, endpoints))}\n`);
} finally {
  await lab.close();
}
