import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type Pod,
  PODS,
  SERVICE_NAME_LABEL,
  SERVICES,
  type ServiceSpec,
} from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
let namespace: Awaited<ReturnType<Cluster['namespace']>>;

const APP = { app: 'db' };
const SOON_MS = 120_000;

function pod(name: string, spec: Partial<Pod['spec']>): Pod {
  const containers = [{ name, image: 'busybox:1.36', command: ['sleep', '3600'] }];
  const metadata = { name, labels: name === 'client' ? {} : APP };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { containers, terminationGracePeriodSeconds: 0, ...spec },
  };
}

async function createService(name: string, spec: ServiceSpec): Promise<void> {
  await cluster.create(SERVICES, namespace.name, { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec });
}

beforeAll(async () => {
  namespace = await cluster.namespace();
  await createService('db', { clusterIP: 'None', selector: APP, ports: [{ name: 'peer', port: 5432 }] });
  await createService('web', { selector: APP, ports: [{ name: 'http', port: 80 }] });
  await createService('alias', { type: 'ExternalName', externalName: `web.${namespace.name}.svc.cluster.local` });
  await cluster.create(PODS, namespace.name, pod('client', {}));
  for (const name of ['db-0', 'db-1'])
    await cluster.create(PODS, namespace.name, pod(name, { hostname: name, subdomain: 'db' }));
  await eventually('the pods are ready', 120_000, async () => {
    const pods = await cluster.pods(namespace.name);
    return pods.length === 3 && pods.every(isReady);
  });
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

/** What a program in the client pod ends with. */
async function inClient(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const labels = ['io.kubernetes.container.name=client', `io.kubernetes.pod.namespace=${namespace.name}`];
  const [id = ''] = await cluster.podContainers(labels.map((label) => `label=${label}`));
  const { code, stdout, stderr } = await runProgram('docker', ['exec', id, ...args], { timeoutMs: 400_000 });
  return { code, text: `${stdout}${stderr}` };
}

const lookUp = (...args: readonly string[]) => inClient('nslookup', ...args);

/** Addresses in the answer of a lookup, without that of the server. */
function addressesIn(text: string): readonly string[] {
  const [, answer = ''] = text.split(/\n\n/, 2);
  return [...answer.matchAll(/^Address(?: \d+)?: ([\d.]+)/gm)].map((match) => match[1] ?? '').toSorted();
}

/** The servers of the DNS, as its Service has them. */
async function servers(): Promise<readonly string[]> {
  const slice = await cluster.get(ENDPOINT_SLICES, 'kube-system', 'kube-dns');
  return (slice.endpoints ?? []).flatMap(({ addresses }) => addresses);
}

/** The same servers for clients that read no slices. */
async function serversInEndpoints(): Promise<readonly string[]> {
  const { subsets = [] } = await cluster.get(ENDPOINTS, 'kube-system', 'kube-dns');
  return subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
}

const podAddress = async (name: string) => (await cluster.get(PODS, namespace.name, name)).status?.podIP ?? '';

test('each DNS server answers the names of Services, endpoints, ports, addresses and pods', async () => {
  const found = await eventually('two servers are published', SOON_MS, async () => {
    const addresses = await servers();
    return addresses.length === 2 ? addresses : undefined;
  });
  const domain = `${namespace.name}.svc.cluster.local`;
  const web = (await cluster.get(SERVICES, namespace.name, 'web')).spec?.clusterIP ?? '';
  const db = [await podAddress('db-0'), await podAddress('db-1')];
  const [one = '', other = ''] = found;
  const cases: readonly (readonly [asked: readonly string[], expected: readonly string[]])[] = [
    [[`web.${domain}`, one], [web]],
    [[`web.${domain}`, other], [web]],
    [[`db.${domain}`, one], db.toSorted()],
    [[`db-1.db.${domain}`, other], [db[1] ?? '']],
    [[`alias.${domain}`, one], [web]],
    [[`${(db[0] ?? '').replaceAll('.', '-')}.${namespace.name}.pod.cluster.local`, one], [db[0] ?? '']],
  ];
  // The servers learn of pods that are ready by the slices that a controller writes.
  for (const [asked, expected] of cases)
    await eventually(`${asked.join(' ')} is ${expected.join(', ')}`, SOON_MS, async () => {
      const { text } = await lookUp('-type=a', ...asked);
      expect(addressesIn(text), text).toEqual(expected);
      return true;
    });
  const says = (text: string, ...asked: readonly string[]) =>
    eventually(`${asked.join(' ')} is ${text}`, SOON_MS, async () => (await lookUp(...asked)).text.includes(text));
  await says(`5432 db-0.db.${domain}`, '-type=srv', `_peer._tcp.db.${domain}`, one);
  await says(`name = web.${domain}`, web, one);
  await says('NXDOMAIN', '-type=a', `none.${domain}`, one);
  await says('1.1.0', '-type=txt', 'dns-version.cluster.local', one);
});

/** Asks one server from the host, over TCP where the answer is too long for UDP. */
function resolverOf(server: string): Resolver {
  const resolver = new Resolver({ timeout: 5000, tries: 6 });
  resolver.setServers([server]);
  return resolver;
}

test('a long answer is whole over TCP, and a zone has its SOA', async () => {
  const [one = ''] = await servers();
  const many = Array.from({ length: 100 }, (_, index) => `198.18.0.${index + 1}`);
  await createService('many', { clusterIP: 'None', ports: [{ port: 80 }] });
  await cluster.create(ENDPOINT_SLICES, namespace.name, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'many-1', labels: { [SERVICE_NAME_LABEL]: 'many' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 80 }],
    endpoints: many.map((address) => ({ addresses: [address] })),
  });
  const resolver = resolverOf(one);
  await eventually('all addresses are in the answer', SOON_MS, async () => {
    const found = await resolver.resolve4(`many.${namespace.name}.svc.cluster.local`);
    expect(found.toSorted()).toEqual(many.toSorted());
    return true;
  });
  expect((await resolver.resolveSoa('cluster.local')).nsname).toBe('ns.dns.cluster.local');
});

const SOA = 6;

/** What a server answers over UDP; `ednsBytes` is how long the answer may be by EDNS, 0 for a question without it. */
async function askByUdp(server: string, name: string, ednsBytes: number) {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  const header = [0x12, 0x34, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, ednsBytes === 0 ? 0 : 1];
  const option = ednsBytes === 0 ? [] : [0, 0, 41, ednsBytes >> 8, ednsBytes & 255, 0, 0, 0, 0, 0, 0];
  const socket = createSocket('udp4');
  try {
    socket.send(Buffer.from([...header, ...labels, 0, 0, 1, 0, 1, ...option]), 53, server);
    const [packet] = (await once(socket, 'message', { signal: AbortSignal.timeout(60_000) })) as [Buffer];
    const records = header.length + labels.length + 5;
    // The name of a record is a pointer, or labels.
    const type = packet[records] === undefined ? 0 : packet.readUInt16BE(endOfName(packet, records));
    return {
      isTruncated: (packet.readUInt16BE(2) & 0x0200) !== 0,
      code: packet.readUInt16BE(2) & 15,
      answers: packet.readUInt16BE(6),
      authorities: packet.readUInt16BE(8),
      options: packet.readUInt16BE(10),
      firstType: type,
    };
  } finally {
    socket.close();
  }
}

function endOfName(packet: Buffer, start: number): number {
  let at = start;
  while ((packet[at] ?? 0) !== 0 && (packet[at] ?? 0) < 192) at += (packet[at] ?? 0) + 1;
  return at + ((packet[at] ?? 0) === 0 ? 1 : 2);
}

test('an answer over UDP is as long as EDNS says, and a name that does not exist has the SOA of the zone', async () => {
  const [one = ''] = await servers();
  await createService('some', { clusterIP: 'None', ports: [{ port: 80 }] });
  await cluster.create(ENDPOINT_SLICES, namespace.name, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'some-1', labels: { [SERVICE_NAME_LABEL]: 'some' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 80 }],
    endpoints: Array.from({ length: 40 }, (_, index) => ({ addresses: [`198.18.1.${index + 1}`] })),
  });
  const name = `some.${namespace.name}.svc.cluster.local`;
  await eventually('the answer is whole', SOON_MS, async () => {
    const found = await askByUdp(one, name, 1232);
    expect(found).toMatchObject({ isTruncated: false, code: 0, answers: 40, options: 1 });
    return true;
  });
  expect(await askByUdp(one, name, 0)).toMatchObject({ isTruncated: true, code: 0, options: 0 });
  expect(await askByUdp(one, `none.${namespace.name}.svc.cluster.local`, 0)).toMatchObject({
    code: 3,
    answers: 0,
    authorities: 1,
    firstType: SOA,
  });
});

test('other names go to the resolver of the host', async () => {
  const [one = ''] = await servers();
  await lookUp('-type=a', 'name-of-no-zone.invalid', one);
  await eventually('the question is counted', SOON_MS, async () => {
    const { text } = await inClient('wget', '-q', '-O', '-', `http://${one}:9153/metrics`);
    return /dns_forward_total\{result="(asked|kept)"\} [1-9]/.test(text);
  });
});

test('pods ask the Service of the DNS, by their policy, and find short names by its search path', async () => {
  const service = (await cluster.get(SERVICES, 'kube-system', 'kube-dns')).spec?.clusterIP ?? '';
  const { text: file } = await inClient('cat', '/etc/resolv.conf');
  const domains = [`${namespace.name}.svc.cluster.local`, 'svc.cluster.local', 'cluster.local'];
  expect(file).toMatch(new RegExp(`^search ${domains.join(' ')}`));
  expect(file).toContain(`nameserver ${service}\noptions ndots:5\n`);
  const web = (await cluster.get(SERVICES, namespace.name, 'web')).spec?.clusterIP ?? '';
  for (const name of ['web', `web.${namespace.name}`, `web.${namespace.name}.svc`, `web.${domains[0] ?? ''}.`]) {
    // ping needs no answer to show which address it found; nslookup of busybox leaves the search path out.
    await eventually(`${name} is ${web}`, SOON_MS, async () =>
      (await inClient('ping', '-c', '1', '-W', '1', name)).text.includes(`(${web})`),
    );
  }
  const dnsConfig = {
    nameservers: ['192.0.2.53'],
    searches: ['example.com'],
    options: [{ name: 'ndots', value: '2' }],
  };
  await cluster.create(PODS, namespace.name, pod('own', { dnsPolicy: 'None', dnsConfig }));
  const own = await eventually('the pod with a resolver of its own runs', SOON_MS, async () => {
    const labels = ['io.kubernetes.container.name=own', `io.kubernetes.pod.namespace=${namespace.name}`];
    return (await cluster.podContainers(labels.map((label) => `label=${label}`)))[0];
  });
  expect(await cluster.docker(['exec', own, 'cat', '/etc/resolv.conf'])).toBe(
    'search example.com\nnameserver 192.0.2.53\noptions ndots:2',
  );
});

/** The container of a pod, which has the pod's name. */
async function containerOf(name: string): Promise<string> {
  return await eventually(`${name} runs`, SOON_MS, async () => {
    const labels = [`io.kubernetes.container.name=${name}`, `io.kubernetes.pod.namespace=${namespace.name}`];
    return (await cluster.podContainers(labels.map((label) => `label=${label}`)))[0];
  });
}

/** The values of the lines of a resolv.conf, in order. */
function parseResolver(file: string) {
  const values = (keyword: string) =>
    file.split('\n').flatMap((line) => (line.startsWith(`${keyword} `) ? line.split(' ').slice(1) : []));
  return { servers: values('nameserver'), searches: values('search'), options: values('options') };
}

test('pods have the resolvers that their policies name, with what they add to these', async () => {
  const service = (await cluster.get(SERVICES, 'kube-system', 'kube-dns')).spec?.clusterIP ?? '';
  const domains = [`${namespace.name}.svc.cluster.local`, 'svc.cluster.local', 'cluster.local'];
  const dnsConfig = {
    nameservers: ['192.0.2.53'],
    searches: ['example.com'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  };
  const specs: Readonly<Record<string, Partial<Pod['spec']>>> = {
    merged: { dnsConfig },
    'cluster-on-host': { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' },
    // On the network of the host this is the policy `Default`, as in Kubernetes.
    'of-host': { hostNetwork: true, dnsPolicy: 'ClusterFirst' },
    'by-default': { dnsPolicy: 'Default' },
    'default-merged': { dnsPolicy: 'Default', dnsConfig },
  };
  for (const [name, spec] of Object.entries(specs)) await cluster.create(PODS, namespace.name, pod(name, spec));
  const fileOf = async (name: string) =>
    await cluster.docker(['exec', await containerOf(name), 'cat', '/etc/resolv.conf']);
  const onNetwork = async (network: string) =>
    await cluster.docker(['run', '--rm', '--network', network, 'busybox:1.36', 'cat', '/etc/resolv.conf']);
  const host = await onNetwork('host');
  const finds = async (name: string) => {
    const args = ['exec', await containerOf(name), 'nslookup', '-type=a', `web.${domains[0] ?? ''}.`];
    return (await runProgram('docker', args)).code === 0;
  };

  const mergedFile = parseResolver(await fileOf('merged'));
  expect(mergedFile).toMatchObject({ servers: [service, '192.0.2.53'], options: ['ndots:2', 'edns0'] });
  expect(mergedFile.searches.slice(0, 3)).toEqual(domains);
  expect(mergedFile.searches.at(-1)).toBe('example.com');
  const onHost = parseResolver(await fileOf('cluster-on-host'));
  expect(onHost).toMatchObject({ servers: [service], options: ['ndots:5'] });
  expect(onHost.searches.slice(0, 3)).toEqual(domains);
  await eventually('it finds a Service', SOON_MS, () => finds('cluster-on-host'));

  expect(await fileOf('of-host')).toBe(host);
  expect(parseResolver(await fileOf('by-default'))).toEqual(
    parseResolver(await onNetwork(`${cluster.clusterId}-pods`)),
  );
  expect(await finds('by-default')).toBe(false);
  const engine = parseResolver(await fileOf('by-default'));
  expect(parseResolver(await fileOf('default-merged'))).toMatchObject({
    servers: [...engine.servers, '192.0.2.53'],
    searches: [...engine.searches, 'example.com'],
  });
});

test('a pod below a subdomain finds its full name in its hosts file', async () => {
  const labels = ['io.kubernetes.container.name=db-0', `io.kubernetes.pod.namespace=${namespace.name}`];
  const [id = ''] = await cluster.podContainers(labels.map((label) => `label=${label}`));
  const domain = `db.${namespace.name}.svc.cluster.local`;
  const line = new RegExp(`^${await podAddress('db-0')}\\s+db-0\\.${domain}\\s+db-0$`, 'm');
  expect(await cluster.docker(['exec', id, 'cat', '/etc/hosts'])).toMatch(line);
  expect(await cluster.docker(['exec', id, 'hostname'])).toBe('db-0');
});

test('no lookup fails when one of two servers is killed', async () => {
  const [victim] = await cluster.containers('dns');
  const name = `web.${namespace.name}.svc.cluster.local`;
  // One question each second, as a resolver repeats it. A busy machine may take longer than the usual five seconds to see that a server ended.
  const lookup = `nslookup -timeout=30 -retry=30 -type=a ${name}`;
  const loop = `i=0; while [ $i -lt 40 ]; do i=$((i+1)); ${lookup} >/dev/null 2>&1 || echo failed $i; sleep 0.2; done`;
  const looking = inClient('sh', '-c', loop);
  await cluster.docker(['kill', victim?.id ?? '']);
  await eventually('the killed server is no longer published', SOON_MS, async () => (await servers()).length === 1);
  await eventually('nor in the Endpoints', SOON_MS, async () => (await serversInEndpoints()).length === 1);
  expect(await looking).toEqual({ code: 0, text: '' });
  await cluster.docker(['start', victim?.id ?? '']);
  await eventually('it is published again', SOON_MS, async () => (await servers()).length === 2);
  await eventually('in the Endpoints too', SOON_MS, async () => (await serversInEndpoints()).length === 2);
  const { stdout } = await cluster.kubectl(['get', 'endpointslices', '-n', 'kube-system', '-o', 'name']);
  expect(stdout.trim().split('\n')).toEqual(['endpointslice.discovery.k8s.io/kube-dns']);
});

test('the DNS answers while no API server does', async () => {
  const found = await servers();
  const web = (await cluster.get(SERVICES, namespace.name, 'web')).spec?.clusterIP ?? '';
  await cluster.compose(['stop', '-t', '5', 'apiserver']);
  try {
    for (const server of found) {
      expect(await resolverOf(server).resolve4(`web.${namespace.name}.svc.cluster.local`)).toEqual([web]);
    }
    await eventually(`web is ${web}`, SOON_MS, async () =>
      (await inClient('ping', '-c', '1', '-W', '1', 'web')).text.includes(`(${web})`),
    );
  } finally {
    await cluster.compose(['start', 'apiserver']);
    await cluster.untilNodesReady(2);
  }
});
