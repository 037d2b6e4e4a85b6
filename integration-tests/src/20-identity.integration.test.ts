import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { HttpClient } from '@gantry/client';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  DEPLOYMENTS,
  ENDPOINTS,
  LEASES,
  type Node,
  NODES,
  type Pod,
  PODS,
  SECRETS,
  SERVICE_ACCOUNTS,
  type TokenRequest,
} from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answerOf,
  askForCertificate,
  CLIENT,
  clientAs,
  NODE_CLIENT,
  NODE_SERVING,
  type Wanted,
} from './harness/certificate-requests.ts';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const ENGINE_LABEL = 'gantry.dev/engine';
const now = () => AbortSignal.timeout(60_000);

/** What is done with a stolen credential: the bootstrap token, an agent's own certificate, one made with the token. */
let bootstrap: HttpClient;
/** An agent that runs, and its node. */
let agent: HttpClient;
let node: Node;
/** Another node of the same engine. */
let neighbour: Node;
/** An agent that only the token has made, of an engine of its own. */
let intruder: HttpClient;
let engine: string;
let authority: X509Certificate;

beforeAll(async () => {
  const [apiserver, ...agents] = [
    ...(await cluster.containers('apiserver')).slice(0, 1),
    ...(await cluster.containers('agent')),
  ];
  const token = await cluster.docker(['exec', apiserver?.id ?? '', 'cat', '/etc/gantry/bootstrap/token']);
  authority = new X509Certificate(await cluster.docker(['exec', apiserver?.id ?? '', 'cat', '/etc/gantry/tls/ca.crt']));
  bootstrap = clientAs(cluster, { token });

  const [own, other] = await cluster.untilNodesReady(2);
  if (own === undefined || other === undefined) throw new Error('two nodes are needed');
  [node, neighbour] = [own, other];
  engine = node.metadata.labels?.[ENGINE_LABEL] ?? '';
  const name = nameOf(node);
  const container = agents.find((one) => one.name.endsWith(name.slice(name.lastIndexOf('-'))));
  const file = (which: string) =>
    cluster.docker(['exec', container?.id ?? '', 'cat', `/var/lib/gantry-keys/client/${which}`]);
  agent = clientAs(cluster, { cert: await file('tls.crt'), key: `${await file('tls.key')}\n` });

  const made = await certify(bootstrap, agentRequest('intruder-1', 'intruder'));
  intruder = clientAs(cluster, made);
});

afterAll(async () => {
  for (const client of [bootstrap, agent, intruder]) client[Symbol.dispose]();
  await cluster.kubectl(['delete', 'node', 'intruder-1', '--ignore-not-found', '--wait=false']);
});

const nameOf = ({ metadata }: Node | Pod) => metadata.name ?? '';
const agentRequest = (name: string, of?: string): Wanted => ({
  ...NODE_CLIENT,
  subject: `O=system:nodes, ${of === undefined ? '' : `OU=gantry:engine:${of}, `}CN=system:node:${name}`,
});

/** A certificate with its key, for a request that must be granted. */
async function certify(client: HttpClient, wanted: Wanted): Promise<{ readonly cert: string; readonly key: string }> {
  const asked = await askForCertificate(client, wanted);
  const answer = await answerOf(cluster, asked);
  if ('refusal' in answer) throw new Error(answer.refusal);
  return { cert: answer.certificate, key: asked.key };
}

/** The message with which a request is denied. */
async function refusalOf(client: HttpClient, wanted: Wanted): Promise<string> {
  const answer = await answerOf(cluster, await askForCertificate(client, wanted));
  return 'refusal' in answer ? answer.refusal : 'it was granted';
}

const expectForbidden = async (work: Promise<unknown>, message = '') => {
  await expect(work).rejects.toMatchObject({ reason: 'Forbidden', message: expect.stringContaining(message) });
};

describe('the bootstrap token', () => {
  test.each(['apiserver', 'load-balancer', 'etcd-0', 'kubernetes.default.svc', 'localhost', 'controller-manager'])(
    'gets no certificate for the reserved name %s',
    async (name) => {
      expect(await refusalOf(bootstrap, agentRequest(name))).toBe(`the name ${name} is reserved for the control plane`);
    },
  );

  test.each<[string, Wanted]>([
    ['a server', { ...NODE_SERVING, subject: 'O=system:nodes, CN=system:node:x-1', dnsNames: ['x-1'] }],
    [
      'a fixed service',
      { ...CLIENT, signerName: 'gantry.dev/service', subject: 'O=gantry:services, CN=system:kube-scheduler' },
    ],
  ])('gets no certificate of %s', async (_, wanted) => {
    expect(await refusalOf(bootstrap, wanted)).not.toBe('it was granted');
  });

  test.each(['system:masters', 'gantry:services', 'gantry:apiservers'])(
    'asks in vain for the group %s',
    async (group) => {
      await expectForbidden(askForCertificate(bootstrap, { ...CLIENT, subject: `O=${group}, CN=me` }), group);
    },
  );

  test('does not take the name of a living node', async () => {
    expect(await refusalOf(bootstrap, agentRequest(nameOf(node), engine))).toContain('a living node has the name');
  });

  test('reads and writes nothing else', async () => {
    await expectForbidden(bootstrap.list(NODES, {}, now()));
    await expectForbidden(bootstrap.list(SECRETS, {}, now()));
    await expectForbidden(bootstrap.list(CERTIFICATE_SIGNING_REQUESTS, {}, now()));
    await expectForbidden(
      bootstrap.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'x-1' } }, now()),
    );
  });
});

describe('an agent', () => {
  test('has a serving certificate of an authority that the cluster does not trust elsewhere', async () => {
    const wanted = { ...NODE_SERVING, subject: 'O=system:nodes, CN=system:node:intruder-1', dnsNames: ['intruder-1'] };
    const { cert } = await certify(intruder, wanted);
    const certificate = new X509Certificate(cert);
    expect(certificate.issuer).toBe('CN=gantry-node-ca');
    expect(certificate.verify(authority.publicKey)).toBe(false);
    for (const name of ['apiserver', 'etcd-0', nameOf(node)]) {
      expect(await refusalOf(intruder, { ...wanted, dnsNames: [name] })).toContain('carries the DNS name intruder-1');
    }
  });

  test('keeps its engine when it renews its certificate', async () => {
    expect(await refusalOf(intruder, agentRequest('intruder-1', engine))).toContain('an agent of the engine intruder');
    expect(await refusalOf(intruder, agentRequest('intruder-1'))).toContain('an agent of the engine intruder');
    await certify(intruder, agentRequest('intruder-1', 'intruder'));
  });

  test('does not become the custodian of other nodes by a label', async () => {
    const own = (labels: Record<string, string>): Node => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'intruder-1', labels },
    });
    await expectForbidden(intruder.create(NODES, own({ [ENGINE_LABEL]: engine }), now()), ENGINE_LABEL);
    await intruder.create(NODES, own({ [ENGINE_LABEL]: 'intruder' }), now());
    const key = { namespace: '', name: 'intruder-1' };
    for (const labels of [
      { [ENGINE_LABEL]: engine },
      { 'node-restriction.kubernetes.io/team': 'a' },
      { 'node-role.kubernetes.io/control-plane': '' },
    ]) {
      await expectForbidden(intruder.patch(NODES, key, { merge: { metadata: { labels } } }, now()), 'modify labels');
    }
    const taints = [{ key: 'k', effect: 'NoExecute' }];
    await expectForbidden(intruder.patch(NODES, key, { merge: { spec: { taints } } }, now()), 'modify taints');
  });

  test('does not touch a living node, its pods and its heartbeat, of its engine or of another', async () => {
    await using namespace = await cluster.namespace();
    await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 2));
    await cluster.untilRolledOut(namespace.name, 'web');
    const pod = await eventually('a pod runs beside', 30_000, async () =>
      (await cluster.pods(namespace.name)).find(({ spec }) => spec?.nodeName === nameOf(neighbour)),
    );
    const [podKey, nodeKey] = [
      { namespace: namespace.name, name: nameOf(pod) },
      { namespace: '', name: nameOf(neighbour) },
    ];
    const cordon = { merge: { spec: { unschedulable: true } } };
    const failed = { merge: { status: { phase: 'Failed' } }, subresource: 'status' };
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: nameOf(pod) } };
    for (const client of [agent, intruder]) {
      await expectForbidden(client.patch(NODES, nodeKey, cordon, now()));
      await expectForbidden(client.delete(NODES, nodeKey, {}, now()));
      await expectForbidden(client.delete(PODS, podKey, {}, now()));
      await expectForbidden(client.patch(PODS, podKey, failed, now()));
      await expectForbidden(client.createSubresource(PODS, { ...podKey, subresource: 'eviction' }, eviction, now()));
      await expectForbidden(client.list(PODS, { fieldSelector: `spec.nodeName=${nameOf(neighbour)}` }, now()));
      await expectForbidden(
        client.delete(LEASES, { namespace: 'kube-node-lease', name: nameOf(neighbour) }, {}, now()),
      );
    }
    expect((await cluster.get(PODS, namespace.name, nameOf(pod))).status?.phase).toBe('Running');
  });

  test('holds no Lease of another engine, and none that another agent holds', async () => {
    const key = { namespace: 'kube-system', name: `gantry-host-${engine}` };
    await expectForbidden(intruder.patch(LEASES, key, { merge: { spec: { holderIdentity: 'intruder-1' } } }, now()));
    await expectForbidden(agent.delete(LEASES, key, {}, now()));
    const forged = { merge: { spec: { holderIdentity: 'intruder-1' } } };
    await expectForbidden(agent.patch(LEASES, key, forged, now()), 'can only hold');
  });

  test('makes no pods but mirrors of its own', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'smuggled', namespace: 'kube-system' },
      spec: { nodeName: nameOf(neighbour), containers: [{ name: 'c', image: 'busybox' }] },
    } satisfies Pod;
    await expectForbidden(agent.create(PODS, pod, now()), 'can only create mirror pods');
    const metadata = { ...pod.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } };
    await expectForbidden(agent.create(PODS, { ...pod, metadata }, now()), 'spec.nodeName set to itself');
    const bare = { ...pod, metadata, spec: { ...pod.spec, nodeName: nameOf(node) } };
    await expectForbidden(agent.create(PODS, bare, now()), 'owner reference');
  });

  test('gets tokens for pods of its node alone, for their audiences and as long as they say', async () => {
    await using namespace = await cluster.namespace();
    await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 2));
    await cluster.untilRolledOut(namespace.name, 'web');
    const pods = await cluster.pods(namespace.name);
    const [mine, far] = [node, neighbour].map((of) => pods.find(({ spec }) => spec?.nodeName === nameOf(of)));
    if (mine === undefined || far === undefined) throw new Error('a pod on each node is needed');
    const ask = (pod: Pod | undefined, spec: object) => {
      const { name = '', uid = '' } = pod?.metadata ?? {};
      const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
      const request = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: {},
        spec: { audiences: [], ...(pod === undefined ? {} : { boundObjectRef }), ...spec },
      } as TokenRequest;
      const at = { namespace: namespace.name, name: 'default', subresource: 'token' };
      return agent.createSubresource(SERVICE_ACCOUNTS, at, request, now());
    };
    expect((await ask(mine, {})).status?.token).toBeDefined();
    await expectForbidden(ask(far, {}), 'scheduled on a different node');
    await expectForbidden(ask(undefined, {}), 'not bound to a pod');
    await expectForbidden(ask(mine, { audiences: ['vault'] }), 'audience "vault" not found in pod spec volume');
    await expectForbidden(ask(mine, { expirationSeconds: 86_400 }), "the pod's spec asks for");
  });

  test('reads no Secret and no ConfigMap that its pods do not use', async () => {
    for (const client of [agent, intruder]) {
      await expectForbidden(client.list(SECRETS, {}, now()));
      await expectForbidden(
        client.get(CONFIG_MAPS, { namespace: 'kube-system', name: 'extension-apiserver-authentication' }, now()),
      );
    }
  });
});

/** Sends an HTTP/2 preface to etcd with a certificate, and prints whether etcd answers. */
const REACH_ETCD = `
  const { readFileSync } = require('node:fs');
  const read = (file) => readFileSync(file);
  const folder = process.argv[1];
  const socket = require('node:tls').connect({
    host: 'etcd-0', port: 2379, servername: 'etcd-0', ALPNProtocols: ['h2'],
    ca: read('/etc/gantry/etcd/ca.crt'), cert: read(folder + '/tls.crt'), key: read(folder + '/tls.key'),
  });
  const end = (text) => { console.log(text); process.exit(); };
  socket.on('error', () => end('refused'));
  socket.on('close', () => end('refused'));
  socket.on('data', () => end('served'));
  socket.on('secureConnect', () => socket.write('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\\0\\0\\0\\x04\\0\\0\\0\\0\\0'));
`;

test('etcd serves certificates of its own authority alone', async () => {
  const [apiserver] = await cluster.containers('apiserver');
  const reach = (folder: string) =>
    cluster.docker(['exec', apiserver?.id ?? '', 'node', '-e', REACH_ETCD, '--', folder]);
  expect(await reach('/etc/gantry/etcd')).toBe('served');
  expect(await reach('/etc/gantry/tls')).toBe('refused');
});

test('API servers have certificates with the addresses that default/kubernetes publishes, also with another address', async () => {
  const servers = await cluster.containers('apiserver');
  const key = { namespace: 'default', name: 'kubernetes' };
  const isTrusted = (host: string) =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host, port: 6443, ca: [authority.toString()] });
      const end = (outcome: boolean) => {
        socket.destroy();
        resolve(outcome);
      };
      socket.once('secureConnect', () => end(socket.authorized)).once('error', () => end(false));
      // An address that has just been given up gets no response: the kernel tries for two minutes.
      socket.setTimeout(10_000, () => end(false));
    });
  const untilTrusted = (address: string) =>
    eventually(`certificates with the published addresses, and ${address} among them`, 120_000, async () => {
      const { subsets = [] } = await cluster.api.get(ENDPOINTS, key, now());
      const published = subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
      const trusted = await Promise.all(published.map(isTrusted));
      return trusted.length === servers.length && trusted.every(Boolean) && published.includes(address);
    });
  const id = servers[0]?.id ?? '';
  const networks = await cluster.docker(['inspect', '-f', '{{json .NetworkSettings.Networks}}', id]);
  const [network = '', pods] =
    Object.entries(JSON.parse(networks) as Record<string, { IPAddress: string }>).find(([name]) =>
      name.endsWith('-pods'),
    ) ?? [];
  const old = pods?.IPAddress ?? '';
  await untilTrusted(old);
  // Near the end of the range of the cluster's containers, which is a /22.
  const other = old.replace(/\d+\.\d+$/, (rest) => `${(Number(rest.split('.')[0]) & ~3) + 3}.250`);
  await cluster.docker(['network', 'disconnect', network, id]);
  await cluster.docker(['network', 'connect', '--ip', other, '--alias', 'apiserver', network, id]);
  await cluster.docker(['restart', id]);
  await untilTrusted(other);
});

test('a client’s request is signed once it is approved', async () => {
  const { api } = cluster;
  const asked = await askForCertificate(api, { ...CLIENT, subject: 'O=developers, CN=jane' });
  await cluster.mustKubectl(['certificate', 'approve', asked.name]);
  const answer = await answerOf(cluster, asked);
  if ('refusal' in answer) throw new Error(answer.refusal);
  using jane = clientAs(cluster, { cert: answer.certificate, key: asked.key });
  await expectForbidden(jane.list(PODS, { namespace: 'default' }, now()), 'User "jane" cannot list resource "pods"');
});

test('the key of service account tokens is rotated, and tokens of the one before stay valid', async () => {
  const keys = async () => {
    const text = await cluster.mustKubectl(['get', '--raw', '/openid/v1/jwks']);
    return (JSON.parse(text) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  };
  const token = async () => (await cluster.mustKubectl(['create', 'token', 'default'])).trim();
  const keyOf = (of: string) => {
    const header: unknown = JSON.parse(Buffer.from(of.split('.')[0] ?? '', 'base64url').toString());
    return (header as { kid: string }).kid;
  };
  const authenticates = async (of: string) => {
    using client = clientAs(cluster, { token: of });
    await expectForbidden(client.list(PODS, { namespace: 'default' }, now()), 'system:serviceaccount:default:default');
  };
  const before = await token();
  await cluster.compose(['run', '--rm', '--no-deps', '-e', 'GANTRY_SERVICE_ACCOUNT_KEYS=rotate', 'pki']);
  const after = await eventually('a token of a new key', 60_000, async () => {
    const made = await token();
    return keyOf(made) === keyOf(before) ? undefined : made;
  });
  // Each call is another connection, and reaches one of the apiservers.
  for (let i = 0; i < 4; i++) {
    // A new key is published by all before one of them signs with it.
    expect(await keys()).toEqual(expect.arrayContaining([keyOf(before), keyOf(after)]));
    await authenticates(before);
    await authenticates(after);
  }
});
