/** Pulls of images: credentials, sharing, progress, with a registry of the test. */
import { EVENTS, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { namespacePods } from '../harness/namespace-pods.ts';
import { startRegistry } from '../harness/registry.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

const inNamespace = (namespace: string) => namespacePods(cluster, namespace);

test('an image behind a login is pulled with the Secret of a pod or its ServiceAccount, once for all, and used by no other pod', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await using registry = await startRegistry('busybox:1.36', `${namespace.name}/app`, 'me:sesame');
  const [node] = await cluster.nodes();
  const run = (name: string, spec = '', policy = 'IfNotPresent') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  nodeName: ${node?.metadata.name}
${spec}
  containers:
    - { name: main, image: "${registry.image}", imagePullPolicy: ${policy}, command: [echo, done] }
---
`;
  await apply(run('without'));
  await untilDescribed('without', `Failed to pull image "${registry.image}"`);
  await untilDescribed('without', 'Error: ImagePullBackOff');

  const login = ['--docker-server', registry.host, '--docker-username=me', '--docker-password=sesame'];
  await kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
  const wrong = [
    '--docker-server',
    `${registry.host}/${namespace.name}`,
    '--docker-username=me',
    '--docker-password=x',
  ];
  await kubectl(['create', 'secret', 'docker-registry', 'wrong', ...wrong]);
  const names = ['one', 'two', 'three'];
  const secrets = '  imagePullSecrets: [{ name: none }, { name: wrong }, { name: login }]';
  await apply(names.map((name) => run(name, secrets)).join(''));
  for (const name of names) await untilSucceeded(name);
  expect(await kubectl(['logs', 'one'])).toBe('done\n');
  await untilDescribed('one', 'Unable to retrieve some image pull secrets (none)');
  const layers = registry.served.filter((path) => path.startsWith('GET') && path.includes('/blobs/'));
  expect(layers.length).toBe(new Set(layers).size);
  const pulled =
    /Successfully pulled image .* in \S+ \(\S+ including waiting\)\. Image size: \d+ bytes\.|already present/;
  await eventually('its Event says how it got the image', PATIENCE_MS, async () =>
    pulled.test(await kubectl(['describe', 'pod', 'one'])),
  );

  // It is on the host now, and still not for a pod without the login.
  await apply(run('never', '', 'Never'));
  await untilDescribed('never', `Container image "${registry.image}" is not present with pull policy of Never`);
  await kubectl(['patch', 'serviceaccount', 'default', '-p', '{"imagePullSecrets":[{"name":"login"}]}']);
  await apply(run('by-account', '', 'Never'));
  await untilSucceeded('by-account');
  await untilDescribed('by-account', 'already present on machine and can be accessed by the pod');

  await apply(run('other-tag', '', 'Never').replace('app:v1', 'app:v2'));
  await eventually('the waiting container says which tags there are', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PODS, namespace.name, 'other-tag');
    const { reason, message } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
    return reason === 'ErrImageNeverPull' && message?.includes(`this machine has ${registry.image}`) === true;
  });
  await kubectl(['delete', 'pod', '--all']);
});

test('an image that pods of two nodes need at once is asked for once', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await using registry = await startRegistry('busybox:1.36', `${namespace.name}/app`, 'me:sesame');
  const login = ['--docker-server', registry.host, '--docker-username=me', '--docker-password=sesame'];
  await kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
  const nodes = (await cluster.nodes()).slice(0, 2).map(({ metadata }) => metadata.name ?? '');
  expect(nodes).toHaveLength(2);
  const since = await cluster.docker(['info', '-f', '{{.SystemTime}}']);
  const release = registry.hold();
  await apply(
    nodes
      .map(
        (node) => `
apiVersion: v1
kind: Pod
metadata: { name: of-${node} }
spec:
  restartPolicy: Never
  nodeName: ${node}
  imagePullSecrets: [{ name: login }]
  containers: [{ name: main, image: "${registry.image}", command: [echo, done] }]
---
`,
      )
      .join(''),
  );
  const agents = await cluster.containers('agent');
  await eventually('one agent waits for the pull of the other one', PATIENCE_MS, async () => {
    // The kernel lists a socket that accepted a connection (state 03) under the name that it listened by.
    const sockets = await Promise.all(agents.map(({ id }) => cluster.docker(['exec', id, 'cat', '/proc/net/unix'])));
    return sockets.some((table) => / 03 +\d+ \S*\/images\/pulls\//.test(table));
  });
  release();
  for (const node of nodes) await untilSucceeded(`of-${node}`);
  for (const node of nodes) await untilDescribed(`of-${node}`, `Successfully pulled image "${registry.image}" in `);
  const until = await cluster.docker(['info', '-f', '{{.SystemTime}}']);
  const window = ['--since', since, '--until', until];
  const pulls = await cluster.docker(['events', ...window, '--filter=event=pull', `--filter=image=${registry.image}`]);
  expect(pulls.split('\n')).toHaveLength(1);
  expect(registry.served.filter((path) => /^GET .*\/manifests\/v1$/.test(path)).length).toBeLessThanOrEqual(1);
  await kubectl(['delete', 'pod', '--all']);
});

test('a pod that always pulls asks the registry each time, and a slow pull holds up no other image', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  await using slow = await startRegistry('busybox:1.36', `${namespace.name}/slow`, 'me:sesame');
  await using fast = await startRegistry('busybox:1.36', `${namespace.name}/fast`, 'me:sesame');
  await using other = await startRegistry('busybox:1.36', `${namespace.name}/other`, 'me:sesame');
  for (const [name, { host }] of Object.entries({ slow, fast, other })) {
    const login = ['--docker-server', host, '--docker-username=me', '--docker-password=sesame'];
    await kubectl(['create', 'secret', 'docker-registry', name, ...login]);
  }
  const [node] = await cluster.nodes();
  const run = (name: string, image: string, policy: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  nodeName: ${node?.metadata.name}
  imagePullSecrets: [{ name: slow }, { name: fast }, { name: other }]
  containers: [{ name: main, image: "${image}", imagePullPolicy: ${policy}, command: [echo, done] }]
---
`;
  // From now on the engine has the layer that the images share: it would wait for a pull that it is in the middle of.
  await apply(run('first', fast.image, 'Always'));
  await untilSucceeded('first');
  const release = slow.hold();
  await apply(run('waits', slow.image, 'IfNotPresent'));
  await eventually('the slow registry is asked for the content', PATIENCE_MS, () =>
    slow.served.some((path) => /\/manifests\//.test(path)),
  );
  await apply(run('beside', other.image, 'IfNotPresent'));
  await untilSucceeded('beside');
  expect((await cluster.get(PODS, namespace.name, 'waits')).status?.phase).toBe('Pending');

  const asked = () => fast.served.filter((path) => /\/manifests\/v1$/.test(path)).length;
  const blobs = () => fast.served.filter((path) => /^GET .*\/blobs\//.test(path)).length;
  const before = { asked: asked(), blobs: blobs() };
  await apply(run('present', fast.image, 'IfNotPresent'));
  await untilSucceeded('present');
  expect({ asked: asked(), blobs: blobs() }).toEqual(before);
  await apply(run('again', fast.image, 'Always'));
  await untilSucceeded('again');
  expect(asked()).toBeGreaterThan(before.asked);
  // What the host has is not sent once more.
  expect(blobs()).toBe(before.blobs);
  await eventually('both are reported', PATIENCE_MS, async () => {
    const reported = (await cluster.list(EVENTS, namespace.name)).filter(
      ({ involvedObject }) => involvedObject.name === 'again',
    );
    expect(reported.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['Pulling', 'Pulled']));
    return true;
  });

  release();
  await untilSucceeded('waits');
  await kubectl(['delete', 'pod', '--all']);
});

test('a pull that takes long says in Events of its pod how far it is', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  await using registry = await startRegistry('busybox:1.36', `${namespace.name}/app`, 'me:sesame', 2 ** 21);
  // The first Event comes ten seconds after the beginning, with the next report of the engine.
  registry.slow(20_000);
  const login = ['--docker-server', registry.host, '--docker-username=me', '--docker-password=sesame'];
  await kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
  const container = `{ name: main, image: "${registry.image}", command: [echo, done] }`;
  const spec = `{ restartPolicy: Never, imagePullSecrets: [{ name: login }], containers: [${container}] }`;
  await apply(`{ apiVersion: v1, kind: Pod, metadata: { name: large }, spec: ${spec} }`);
  await untilSucceeded('large');
  await eventually('it is reported', PATIENCE_MS, async () => {
    const events = await cluster.list(EVENTS, namespace.name);
    const messages = events.filter(({ reason }) => reason === 'Pulling').map(({ message }) => message);
    expect(messages).toContain(`Pulling image "${registry.image}"`);
    expect(messages).toContainEqual(
      expect.stringMatching(/^Pulling image "\S+:v1": (25|50|75)% of the \d{6,} bytes known so far$/),
    );
    return true;
  });
  await kubectl(['delete', 'pod', '--all']);
});
