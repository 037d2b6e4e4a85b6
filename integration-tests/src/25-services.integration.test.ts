import { get } from 'node:http';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { MUTATING_WEBHOOK_CONFIGURATIONS, type Service, SERVICES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueServerIdentity } from './harness/test-pki.ts';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { ANSWER_MS, ServicePods } from './harness/service-pods.ts';

const cluster = new Cluster();
const SOON_MS = 120_000;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let pods: ServicePods;
/** InternalIPs of two nodes; `web-0` and `web-2` run on the first, `web-1` and `client` on the second. */
let addresses: readonly string[];

beforeAll(async () => {
  namespace = await cluster.namespace();
  pods = new ServicePods(cluster, namespace.name);
  const nodes = await cluster.nodes();
  const [first = '', second = ''] = nodes.map(({ metadata }) => metadata.name ?? '');
  addresses = nodes.map(({ status }) => status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '');
  for (const [name, node] of [
    ['web-0', first],
    ['web-1', second],
    ['solo', first],
    ['client', second],
  ] as const) {
    await pods.server(name, node);
  }
  for (const name of ['web-0', 'web-1', 'solo', 'client']) await pods.untilReady(name);
  await kubectl('label', 'pods', 'web-0', 'web-1', 'tier=web');
}, 600_000);
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);

/** Creates a Service and gives its address. */
async function serve(name: string, spec: Partial<NonNullable<Service['spec']>>): Promise<NonNullable<Service['spec']>> {
  const ports = [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }];
  const created = await cluster.create(SERVICES, namespace.name, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { tier: 'web' }, ports, ...spec },
  });
  return created.spec ?? {};
}

/** Asks until the answers come from these pods and no others. */
async function untilFrom(client: string, target: string, ...servers: readonly string[]): Promise<void> {
  await eventually(`${client} gets ${target} from ${servers.join(', ')}`, SOON_MS, async () => {
    const from = new Set((await pods.ask(client, target, 12)).map((answer) => answer.split(' ')[0]));
    if (from.size === servers.length && servers.every((server) => from.has(server))) return true;
    throw new Error(`it was ${[...from].join(', ')}`);
  });
}

/** The first word of an answer to a program of the host. */
async function hostAsks(target: string, localAddress?: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get(`http://${target}/`, { agent: false, timeout: ANSWER_MS, localAddress }, (response) => {
    void text(response).then(resolve, reject);
  });
  request.on('timeout', () => request.destroy(new Error(`${target} is silent`)));
  request.on('error', reject);
  return (await promise).split(' ')[0] ?? '';
}

/** An address of the host that is of no network of Docker's. */
function hostAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '';
}

/** Output of a program of the cluster's image in the host's network. */
async function onHost(...command: readonly string[]): Promise<string> {
  const [proxy] = await cluster.containers('proxy');
  const image = await cluster.docker(['inspect', '-f', '{{.Config.Image}}', proxy?.id ?? '']);
  const rights = ['--network', 'host', '--cap-add', 'NET_ADMIN'];
  return await cluster.docker(['run', '--rm', ...rights, image, ...command]);
}

test('a ClusterIP leads to all ready pods, on every node, from the host, and from its own pods back to themselves', async () => {
  const { clusterIP = '' } = await serve('web', {});
  for (const client of ['client', 'solo', 'web-0', 'web-1']) await untilFrom(client, clusterIP, 'web-0', 'web-1');
  expect(['web-0', 'web-1']).toContain(await hostAsks(clusterIP));
  // Clients keep their address, so that servers see it.
  const [, seen = ''] = (await pods.ask('client', clusterIP, 1, ANSWER_MS))[0]?.split(' ') ?? [];
  expect(seen).toBe(await kubectl('get', 'pod', 'client', '-o=jsonpath={.status.podIP}'));
  expect(await pods.ask('client', `${clusterIP}:81`, 1, ANSWER_MS)).toEqual(['ECONNREFUSED']);
});

test('a NodePort answers on every node, to pods, to the host, and to a container of another network', async () => {
  const { ports = [] } = await serve('node-port', { type: 'NodePort' });
  const port = ports[0]?.nodePort ?? 0;
  for (const address of addresses) await untilFrom('client', `${address}:${port}`, 'web-0', 'web-1');
  for (const address of addresses) expect(['web-0', 'web-1']).toContain(await hostAsks(`${address}:${port}`));
  const own = hostAddress();
  expect(['web-0', 'web-1']).toContain(await hostAsks(`${own}:${port}`));
  const outside = await cluster.docker(['run', '--rm', 'busybox:1.36', 'wget', '-q', '-O-', `http://${own}:${port}/`]);
  expect(outside).toMatch(/^web-[01] /);
});

test("host ports lead to their pods on the node's address, and not between addresses and protocols; they go with the pod", async () => {
  const node = (await cluster.nodes())[0]?.metadata.name ?? '';
  const [address = ''] = addresses;
  const on = (hostIP: string, containerPort: number, protocol = 'TCP') =>
    ({ hostIP, containerPort, protocol, hostPort: 54_323 }) as const;
  await pods.exposedServer('loopback', node, on('127.0.0.1', 8080), { containerPort: 8080, hostPort: 54_324 });
  await pods.exposedServer('addressed', node, on(address, 8080));
  await pods.exposedServer('datagrams', node, on(address, 9053, 'UDP'));
  for (const name of ['loopback', 'addressed', 'datagrams']) await pods.untilReady(name);
  await untilFrom('client', `${address}:54323`, 'addressed');
  await untilFrom('loopback', `${address}:54324`, 'loopback');
  expect(await hostAsks(`${address}:54323`)).toBe('addressed');
  // What Kubernetes' conformance test asks: the node's address is one that programs of the host can have.
  expect(await hostAsks('127.0.0.1:54323', address)).toBe('loopback');
  // A datagram from before the rule is lost, and the kernel keeps its way: each has a port of its own.
  await eventually('datagrams arrive', SOON_MS, async () =>
    /^datagrams /.test(await pods.askUdp('client', address, 54_323, 0)),
  );
  expect(await pods.ask('client', `${addresses[1]}:54323`, 1, ANSWER_MS)).toEqual(['ECONNREFUSED']);
  const outside = ['run', '--rm', 'busybox:1.36', 'wget', '-q', '-O-', `http://${hostAddress()}:54324/`];
  expect(await cluster.docker(outside)).toMatch(/^loopback /);
  await kubectl('delete', 'pod', 'addressed', '--grace-period=1', '--wait=true');
  await eventually('the port is closed', SOON_MS, async () => {
    const [answer] = await pods.ask('client', `${address}:54323`);
    return answer === 'ECONNREFUSED';
  });
});

test('each Service of type LoadBalancer has an address that answers from the host, with its ports and its checks, until it wants none', async () => {
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', allocateLoadBalancerNodePorts: false };
  const { ports = [], healthCheckNodePort } = await serve('balanced', spec);
  expect(ports[0]?.nodePort).toBeUndefined();
  await serve('balanced-too', { type: 'LoadBalancer', selector: { app: 'solo' } });
  await serve('of-others', { type: 'LoadBalancer', loadBalancerClass: 'example.org/other' });
  const addressOf = async (name: string) =>
    await eventually(`${name} has an address`, SOON_MS, async () => {
      const text = await kubectl('get', 'service', name, '-o=jsonpath={.status.loadBalancer.ingress[*]}');
      return /"ip":"([^"]+)","ipMode":"VIP"/.exec(text)?.[1];
    });
  const [address, other] = [await addressOf('balanced'), await addressOf('balanced-too')];
  expect(other).not.toBe(address);
  await untilFrom('client', address, 'web-0', 'web-1');
  expect(['web-0', 'web-1']).toContain(await hostAsks(address));
  await untilFrom('client', other, 'solo');
  expect(await hostAsks(other)).toBe('solo');
  await eventually('its checks say that the first node has an endpoint', SOON_MS, async () => {
    const check = await fetch(`http://${addresses[0]}:${healthCheckNodePort}/`);
    expect(check.status).toBe(200);
    expect(await check.json()).toMatchObject({ service: { name: 'balanced' }, localEndpoints: 1 });
    return true;
  });

  expect(await pods.ask('client', `${address}:81`, 1, ANSWER_MS)).toEqual(['ECONNREFUSED']);
  const http = { name: 'http', port: 80, targetPort: 'web' };
  const patch = (change: object) => kubectl('patch', 'service', 'balanced', '-p', JSON.stringify({ spec: change }));
  await patch({ ports: [http, { name: 'more', port: 81, targetPort: 'web' }] });
  await untilFrom('client', `${address}:81`, 'web-0', 'web-1');
  await patch({ loadBalancerSourceRanges: ['192.0.2.9/32'] });
  await eventually(
    'others are dropped',
    SOON_MS,
    async () => (await pods.ask('client', address, 1, 1000))[0] === 'TIMEOUT',
  );
  await patch({ loadBalancerSourceRanges: null });
  await untilFrom('client', address, 'web-0', 'web-1');

  await eventually('its Events are shown', SOON_MS, async () =>
    /EnsuringLoadBalancer[^]*EnsuredLoadBalancer/.test(await kubectl('describe', 'service', 'balanced')),
  );
  expect(await kubectl('get', 'service', 'of-others', '--no-headers')).toContain('<pending>');
  await patch({ type: 'ClusterIP', externalTrafficPolicy: null, allocateLoadBalancerNodePorts: null });
  await eventually('the address is given back', SOON_MS, async () =>
    /^\{\} *$/.test(
      await kubectl('get', 'service', 'balanced', '-o=jsonpath={.status.loadBalancer} {.metadata.finalizers}'),
    ),
  );
  await kubectl('delete', 'service', 'balanced-too', '--timeout=120s');
});

test('the policy Local keeps to the pods of a node; others of the cluster are not answered', async () => {
  const { clusterIP = '' } = await serve('inner', { internalTrafficPolicy: 'Local', selector: { app: 'web-0' } });
  await untilFrom('solo', clusterIP, 'web-0');
  expect(await pods.ask('client', clusterIP, 1, 1500)).toEqual(['TIMEOUT']);
  await kubectl('patch', 'service', 'inner', '-p', '{"spec":{"internalTrafficPolicy":"Cluster"}}');
  await untilFrom('client', clusterIP, 'web-0');

  const outer = await serve('outer', { type: 'NodePort', externalTrafficPolicy: 'Local', selector: { app: 'web-0' } });
  const port = outer.ports?.[0]?.nodePort ?? 0;
  await untilFrom('client', `${addresses[0]}:${port}`, 'web-0');
  expect(await pods.ask('solo', `${addresses[1]}:${port}`, 1, 1500)).toEqual(['TIMEOUT']);
  // A node's own pods reach all endpoints, as if they came in from a load balancer.
  await untilFrom('client', `${addresses[1]}:${port}`, 'web-0');
});

test('a client with affinity stays with its pod', async () => {
  const { clusterIP = '' } = await serve('sticky', { sessionAffinity: 'ClientIP' });
  for (const client of ['client', 'solo']) {
    await eventually(`${client} is answered`, SOON_MS, async () =>
      /^web/.test((await pods.ask(client, clusterIP))[0] ?? ''),
    );
    expect(new Set(await pods.ask(client, clusterIP, 16, ANSWER_MS)).size).toBe(1);
  }
});

test('UDP: a client that keeps its port gets another pod when its own is gone', async () => {
  const ports = [{ name: 'dns', port: 53, targetPort: 9053, protocol: 'UDP' }];
  const { clusterIP = '' } = await serve('udp', { selector: { app: 'udp' }, ports });
  const node = (await cluster.nodes())[0]?.metadata.name ?? '';
  for (const name of ['udp-0', 'udp-1']) await pods.server(name, node, 0);
  for (const name of ['udp-0', 'udp-1']) {
    await pods.untilReady(name);
    await kubectl('label', 'pod', name, 'app=udp', '--overwrite');
  }
  const ask = async () => (await pods.askUdp('client', clusterIP, 53, 5353)).split(' ')[0] ?? '';
  const first = await eventually('an answer', SOON_MS, async () => /^udp-\d$/.exec(await ask())?.[0]);
  await kubectl('delete', 'pod', first, '--wait=true');
  const other = first === 'udp-0' ? 'udp-1' : 'udp-0';
  await eventually('the other pod answers', SOON_MS, async () => (await ask()) === other);
});

/** How many TCP segments a pod has sent again until now. */
async function segmentsSentAgain(pod: string): Promise<number> {
  const [names = '', values = ''] = (await kubectl('exec', pod, '--', 'grep', '^Tcp:', '/proc/net/snmp')).split('\n');
  return Number(values.split(' ')[names.split(' ').indexOf('RetransSegs')]);
}

test('without endpoints a Service refuses at once; pods that terminate serve while there are no others', async () => {
  const { clusterIP = '' } = await serve('last', { selector: { app: 'last' } });
  await eventually('refused', SOON_MS, async () => (await pods.ask('client', clusterIP))[0] === 'ECONNREFUSED');
  // The kernel sends one address few ICMP messages in a second: a client that gets none waits for a second and sends again.
  const before = await segmentsSentAgain('client');
  expect(new Set(await pods.ask('client', clusterIP, 40, ANSWER_MS))).toEqual(new Set(['ECONNREFUSED']));
  expect((await segmentsSentAgain('client')) - before).toBeLessThan(10);
  // Longer than a busy machine takes until it is seen to terminate.
  const spec = { ...(await pods.serverSpec(150_000)), terminationGracePeriodSeconds: 180 };
  await pods.server('last', (await cluster.nodes())[0]?.metadata.name ?? '', undefined, spec);
  await pods.untilReady('last');
  await untilFrom('client', clusterIP, 'last');
  await kubectl('delete', 'pod', 'last', '--wait=false');
  await eventually('the endpoint terminates', SOON_MS, async () => {
    const slices = await kubectl('get', 'endpointslices', '-l', 'kubernetes.io/service-name=last', '-o', 'json');
    return /"terminating": true/.test(slices);
  });
  await untilFrom('client', clusterIP, 'last');
  await kubectl('delete', 'pod', 'last', '--grace-period=1', '--wait=true');
  await eventually('refused again', SOON_MS, async () => (await pods.ask('client', clusterIP))[0] === 'ECONNREFUSED');
});

const ASK_API = `
const { readFileSync } = require('fs');
const folder = '/var/run/secrets/kubernetes.io/serviceaccount/';
const options = { ca: readFileSync(folder + 'ca.crt'), headers: { authorization: 'Bearer ' + readFileSync(folder + 'token') } };
require('https').get('https://' + process.argv[1] + '/api', options, ({ statusCode }) => { console.log(statusCode); process.exit(); });
`;

test('a pod reaches the API by the address of default/kubernetes with its own token', async () => {
  const { spec } = await cluster.get(SERVICES, 'default', 'kubernetes');
  expect(await pods.run('client', ASK_API, [spec?.clusterIP ?? ''])).toBe('200');
});

/** Allows all that it is asked about, and says so in a label. */
const WEBHOOK = `
require('https').createServer({ key: process.env.KEY, cert: process.env.CERT }, (request, response) => {
  let text = '';
  request.on('data', (part) => (text += part)).on('end', () => {
    const { uid } = JSON.parse(text).request;
    const patch = Buffer.from(JSON.stringify([{ op: 'add', path: '/metadata/labels', value: { seen: 'yes' } }])).toString('base64');
    const answer = { uid, allowed: true, patchType: 'JSONPatch', patch };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }));
  });
}).listen(8443, '0.0.0.0');
`;

test('an API server calls a webhook that runs in pods, by its Service, and forwards to Services and pods', async () => {
  const { ca, cert, key } = await issueServerIdentity([`hook.${namespace.name}.svc`]);
  const spec = await pods.serverSpec(0);
  const env = Object.entries({ KEY: key, CERT: cert }).map(([name, value]) => ({ name, value }));
  const readinessProbe = { tcpSocket: { port: 8443 }, periodSeconds: 1 };
  const containers = spec.containers.map((one) => ({
    ...one,
    command: ['node', '-e', WEBHOOK],
    env,
    readinessProbe,
    ports: [{ containerPort: 8443 }],
  }));
  await pods.server('hook', (await cluster.nodes())[0]?.metadata.name ?? '', 0, { ...spec, containers });
  await pods.untilReady('hook');
  await serve('hook', { selector: { app: 'hook' }, ports: [{ port: 443, targetPort: 8443 }] });
  const name = `hook-${namespace.name}`;
  await cluster.create(MUTATING_WEBHOOK_CONFIGURATIONS, '', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'hook.example.org',
        clientConfig: {
          service: { namespace: namespace.name, name: 'hook', path: '/' },
          caBundle: Buffer.from(ca).toString('base64'),
        },
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace.name } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 10,
        failurePolicy: 'Ignore',
      },
    ],
  });
  let attempt = 0;
  try {
    await eventually('the webhook has seen an object', SOON_MS, async () => {
      await kubectl('create', 'configmap', `seen-${++attempt}`);
      return (await kubectl('get', 'configmap', `seen-${attempt}`, '-o=jsonpath={.metadata.labels.seen}')) === 'yes';
    });
  } finally {
    await kubectl('delete', 'mutatingwebhookconfiguration', name);
  }
  const raw = (path: string) => cluster.mustKubectl(['get', '--raw', `/api/v1/namespaces/${namespace.name}/${path}`]);
  expect(await raw('services/web:http/proxy/')).toMatch(/^web-[01] /);
  expect(await raw('pods/solo:8080/proxy/')).toMatch(/^solo /);
});

test("the engine's own rules go on: ports that it publishes answer, and its networks stay apart", async () => {
  const name = `published-${namespace.name}`;
  const serving = ['busybox:1.36', 'sh', '-c', 'echo published > /index.html; exec httpd -f -p 80 -h /'];
  await cluster.docker(['run', '-d', '--rm', '--name', name, '-p', '80', ...serving]);
  try {
    const [, port = ''] = /:(\d+)$/m.exec(await cluster.docker(['port', name, '80/tcp'])) ?? [];
    const own = hostAddress();
    await eventually('the port answers', SOON_MS, async () => (await hostAsks(`${own}:${port}`)) === 'published\n');
    const pod = await kubectl('get', 'pod', 'solo', '-o=jsonpath={.status.podIP}');
    const inside = (target: string, seconds: number) => {
      const reach = `timeout ${seconds} wget -q -O- http://${target}/ || echo nothing`;
      return cluster.docker(['exec', name, 'sh', '-c', reach]);
    };
    expect((await inside('127.0.0.1', 60)).trim()).toBe('published');
    expect((await inside(`${pod}:8080`, 3)).trim()).toMatch(/nothing$/);
  } finally {
    await cluster.docker(['rm', '-f', name]);
  }
});

test('rules that others delete are written again; they outlive a stop of the proxy, and its removal leaves none', async () => {
  const { clusterIP = '' } = await cluster.get(SERVICES, namespace.name, 'web').then(({ spec }) => spec ?? {});
  for (const command of [
    ['flush', 'table'],
    ['delete', 'table'],
  ]) {
    await onHost('nft', ...command, 'ip', cluster.clusterId);
    await untilFrom('client', clusterIP, 'web-0', 'web-1');
  }
  const chain = `GANTRY-${cluster.clusterId.replace('gantry-', '')}`;
  await onHost('iptables', '-w', '-D', 'DOCKER-USER', '-j', chain);
  await eventually('the chain is behind DOCKER-USER again', SOON_MS, async () =>
    (await onHost('iptables', '-S', 'DOCKER-USER')).includes(`-j ${chain}`),
  );
  await cluster.compose(['stop', 'proxy']);
  await untilFrom('client', clusterIP, 'web-0', 'web-1');
  await cluster.compose(['run', '--rm', '--no-deps', '-T', 'proxy', 'node', 'lib/proxy.mjs', 'remove']);
  const rules = async () => `${await onHost('nft', 'list', 'tables')}\n${await onHost('iptables', '-S')}`;
  expect(await rules()).not.toMatch(
    new RegExp(`${cluster.clusterId}|GANTRY-${cluster.clusterId.replace('gantry-', '')}`),
  );
  const [bridge = ''] = (await onHost('ip', '-o', 'route', 'get', addresses[0] ?? '')).match(/gtp-\S+/) ?? [];
  expect(bridge).not.toBe('');
  expect(await onHost('ip', '-o', '-4', 'address', 'show', 'dev', bridge)).not.toContain('/32');
  await cluster.compose(['start', 'proxy']);
  await untilFrom('client', clusterIP, 'web-0', 'web-1');
  await eventually('the rules are written again', SOON_MS, async () =>
    (await rules()).includes(`GANTRY-${cluster.clusterId.replace('gantry-', '')}`),
  );
});
