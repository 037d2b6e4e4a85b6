import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  IP_ADDRESSES,
  NODES,
  SERVICE_CIDRS,
  SERVICE_NAME_LABEL,
  SERVICES,
  type ServiceSpec,
} from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { ANSWER_MS, ServicePods } from './harness/service-pods.ts';

const cluster = new Cluster();
const SOON_MS = 120_000;
const WEB = { tier: 'web' };
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let pods: ServicePods;
/** The servers' addresses: `near` is on the first Node, `far` and `client` are on the second. */
let addresses: Readonly<Record<'near' | 'far', string>>;

beforeAll(async () => {
  namespace = await cluster.namespace();
  pods = new ServicePods(cluster, namespace.name);
  const [first = '', second = ''] = (await cluster.list(NODES)).map(({ metadata }) => metadata.name ?? '');
  await pods.server('near', first);
  await pods.server('far', second);
  await pods.server('client', second);
  for (const name of ['near', 'far', 'client']) await pods.untilReady(name);
  await kubectl('label', 'pods', 'near', 'far', 'tier=web');
  addresses = { near: await addressOf('near'), far: await addressOf('far') };
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
const addressOf = (pod: string) => kubectl('get', 'pod', pod, '-o=jsonpath={.status.podIP}');

async function serve(name: string, spec: ServiceSpec): Promise<ServiceSpec> {
  const object = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
  return (await cluster.create(SERVICES, namespace.name, object)).spec ?? {};
}

/** The names that a pod is answered with. */
async function answers(client: string, target: string, times = 12, timeoutMs?: number): Promise<readonly string[]> {
  const found = new Set((await pods.ask(client, target, times, timeoutMs)).map((answer) => answer.split(' ')[0] ?? ''));
  return [...found].toSorted();
}

async function untilAnswers(client: string, target: string, ...wanted: readonly string[]): Promise<void> {
  await eventually(`${client} gets ${target} from ${wanted.join(', ')}`, SOON_MS, async () => {
    const found = await answers(client, target);
    if (found.join() === wanted.toSorted().join()) return true;
    throw new Error(`it was ${found.join(', ')}`);
  });
}

test('an external address leads to the Service, but not one that a pod has', async () => {
  const ports = [{ port: 8080, targetPort: 'web' }];
  await serve('external', { selector: { app: 'far' }, ports, externalIPs: ['203.0.113.7', addresses.near] });
  await untilAnswers('client', '203.0.113.7:8080', 'far');
  await untilAnswers('near', '203.0.113.7:8080', 'far');
  expect(await answers('client', `${addresses.near}:8080`, 12, ANSWER_MS)).toEqual(['near']);
});

test('a Service without a selector leads where its own Endpoints, or its own EndpointSlice, say', async () => {
  const ports = [{ port: 80, protocol: 'TCP' }];
  const mirrored = await serve('mirrored', { ports });
  await cluster.create(ENDPOINTS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'mirrored' },
    subsets: [{ addresses: [{ ip: addresses.near }], ports: [{ port: 8080 }] }],
  });
  const own = await serve('own', { ports });
  await cluster.create(ENDPOINT_SLICES, namespace.name, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'own-1', labels: { [SERVICE_NAME_LABEL]: 'own' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [addresses.far] }],
  });
  await untilAnswers('client', mirrored.clusterIP ?? '', 'near');
  await untilAnswers('client', own.clusterIP ?? '', 'far');
});

test('pods that are not ready are endpoints only of a Service that publishes them', async () => {
  const spec = await pods.serverSpec(0);
  const containers = spec.containers.map((one) => ({ ...one, readinessProbe: { exec: { command: ['false'] } } }));
  const node = (await cluster.nodes())[0]?.metadata.name ?? '';
  await pods.server('unready', node, 0, { ...spec, containers });
  const selector = { app: 'unready' };
  const ports = [{ port: 80, targetPort: 8080 }];
  const published = await serve('published', { selector, ports, publishNotReadyAddresses: true });
  const unpublished = await serve('unpublished', { selector, ports });
  await untilAnswers('client', published.clusterIP ?? '', 'unready');
  await untilAnswers('client', unpublished.clusterIP ?? '', 'ECONNREFUSED');
});

test("trafficDistribution keeps to the client's Node while that has a ready pod; slices have the appProtocol", async () => {
  const ports = [{ name: 'http', port: 80, targetPort: 'web', appProtocol: 'kubernetes.io/ws' }];
  const { clusterIP = '' } = await serve('close', { selector: WEB, ports, trafficDistribution: 'PreferSameNode' });
  await untilAnswers('near', clusterIP, 'near');
  await untilAnswers('client', clusterIP, 'far');
  const [slice] = await cluster.list(ENDPOINT_SLICES, namespace.name, `${SERVICE_NAME_LABEL}=close`);
  expect(slice?.ports?.[0]?.appProtocol).toBe('kubernetes.io/ws');
  await kubectl('label', 'pod', 'far', 'tier-');
  await untilAnswers('client', clusterIP, 'near');
  await kubectl('label', 'pod', 'far', 'tier=web');
  await untilAnswers('client', clusterIP, 'far');
});

test('a client with affinity is forgotten when it has been silent for the timeout', async () => {
  const { clusterIP = '' } = await serve('sticky', {
    selector: WEB,
    ports: [{ name: 'http', port: 80, targetPort: 'web' }],
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
  });
  const ask = async () => (await answers('client', clusterIP, 1))[0] ?? '';
  const [proxy] = await cluster.containers('proxy');
  const clientsOf = (pod: 'near' | 'far') =>
    cluster.docker(
      ['exec', proxy?.id ?? '', 'nft', 'list', 'set', 'ip', cluster.clusterId].concat(
        `clients-1/${namespace.name}/sticky/tcp/http/${addresses[pod]}/8080`,
      ),
    );
  const first = await eventually('an answer', SOON_MS, async () => /^(near|far)$/.exec(await ask())?.[0]);
  await eventually('the other pod answers', SOON_MS, async () => {
    await eventually('the proxy has forgotten the client', SOON_MS, async () =>
      [await clientsOf('near'), await clientsOf('far')].every((text) => !text.includes('elements')),
    );
    return (await ask()) !== first;
  });
});

test('fields of two address families are those of a cluster with one', async () => {
  const ports = [{ port: 80 }];
  const { clusterIP, ...spec } = await serve('families', { ports, ipFamilyPolicy: 'PreferDualStack' });
  expect(spec).toMatchObject({ ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv4'], clusterIPs: [clusterIP] });
  await expect(serve('both', { ports, ipFamilyPolicy: 'RequireDualStack' })).rejects.toThrow(
    'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
  );
  await expect(serve('ipv6', { ports, ipFamilies: ['IPv6'] })).rejects.toThrow('spec.ipFamilies[0]');
});

test('a ServiceCIDR adds addresses that lead to pods; it goes when none of them is used', async () => {
  const name = `further-${namespace.name}`;
  await cluster.create(SERVICE_CIDRS, '', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name },
    spec: { cidrs: ['198.19.113.0/29'] },
  });
  const clusterIP = '198.19.113.3';
  const ports = [{ port: 80, targetPort: 'web' }];
  await eventually('an address of the range is given', SOON_MS, () =>
    serve('further', { selector: { app: 'near' }, ports, clusterIP }),
  );
  await untilAnswers('client', clusterIP, 'near');
  await eventually('the address has its object', SOON_MS, async () => {
    const { spec } = await cluster.get(IP_ADDRESSES, '', clusterIP);
    expect(spec?.parentRef).toMatchObject({ resource: 'services', namespace: namespace.name, name: 'further' });
    return true;
  });
  await expect(serve('twice', { ports, clusterIP })).rejects.toThrow('provided IP is already allocated');
  await kubectl('delete', 'servicecidr', name, '--wait=false');
  await eventually('it waits for its addresses', SOON_MS, async () =>
    (await cluster.get(SERVICE_CIDRS, '', name)).status?.conditions?.some(({ reason }) => reason === 'Terminating'),
  );
  await kubectl('delete', 'service', 'further');
  await kubectl('wait', '--for=delete', `servicecidr/${name}`, '--timeout=120s');
  expect(await kubectl('get', 'ipaddress', clusterIP, '--ignore-not-found')).toBe('');
});

test('Services that are created at once while an API server is killed share no address and no node port', async () => {
  const [, victim] = await cluster.containers('apiserver');
  const create = (index: number) => serve(`many-${index}`, { type: 'NodePort', ports: [{ port: 80 }] });
  const first = Array.from({ length: 40 }, (_, index) => create(index));
  await first[0];
  const killed = cluster.docker(['kill', victim?.id ?? '']);
  const second = Array.from({ length: 40 }, (_, index) => create(40 + index));
  // Writes whose connection was cut have failed, or are done all the same.
  const outcomes = await Promise.allSettled([...first, ...second]);
  await killed;
  await cluster.docker(['start', victim?.id ?? '']);
  const services = await cluster.list(SERVICES);
  const created = outcomes.filter(({ status }) => status === 'fulfilled').length;
  const many = services.filter(
    ({ metadata }) => metadata.namespace === namespace.name && metadata.name?.startsWith('many-') === true,
  );
  expect(many.length).toBeGreaterThanOrEqual(created);
  expect(created).toBeGreaterThan(0);
  const given = services.flatMap(({ spec }) => (spec?.clusterIPs ?? []).filter((address) => address !== 'None'));
  expect(given.length).toBe(new Set(given).size);
  const nodePorts = services.flatMap(({ spec }) => (spec?.ports ?? []).flatMap(({ nodePort }) => nodePort ?? []));
  expect(nodePorts.length).toBe(new Set(nodePorts).size);
  await eventually('each address has its object', SOON_MS, async () => {
    const objects = await cluster.list(IP_ADDRESSES);
    const names = new Set(objects.map(({ metadata }) => metadata.name ?? ''));
    return many.every(({ spec }) => names.has(spec?.clusterIP ?? ''));
  });
  await eventually('both API servers serve', SOON_MS, async () => {
    const { subsets = [] } = await cluster.get(ENDPOINTS, 'default', 'kubernetes');
    return subsets.flatMap((subset) => subset.addresses ?? []).length === 2;
  });
});
