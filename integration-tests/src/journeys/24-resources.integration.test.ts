/** What the engine is told of a container: amounts, users, groups, variables, names, runtime classes. */
import { buildImage } from '@gantry/base/testing';
import { PODS, quantityValue } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { namespacePods } from '../harness/namespace-pods.ts';
import { scriptPod } from '../harness/script-pod.ts';

const cluster = new Cluster();

const inNamespace = (namespace: string) => namespacePods(cluster, namespace);

const pod = (name: string, script: string, volumes: string, mounts: string, spec = '') =>
  scriptPod(name, script, `volumeMounts: [${mounts}]`, `volumes: [${volumes}]\n${spec}`);

/** What the containers of a pod have at the engine, by their names. */
async function engineOptions(namespace: string, name: string) {
  const labels = [`label=io.kubernetes.pod.namespace=${namespace}`, `label=io.kubernetes.pod.name=${name}`];
  const ids = await cluster.podContainers(labels, 'all');
  const containers = JSON.parse(await cluster.docker(['inspect', ...ids])) as readonly {
    readonly Config: { readonly Labels: Readonly<Record<string, string>> };
    readonly HostConfig: Readonly<Record<string, unknown>>;
  }[];
  return new Map(containers.map((one) => [one.Config.Labels['io.kubernetes.container.name'], one.HostConfig]));
}

/** Of a container that requests 32Mi of so many bytes. */
function burstableScore(capacityBytes: number): number {
  return Math.min(999, Math.max(3, 1000 - Math.floor((1000 * 32 * 2 ** 20) / capacityBytes)));
}

test('requests, limits and the class of a pod are what the engine holds its containers to', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const script = 'df -k /dev/shm | tail -1 | tr -s " " | cut -d" " -f2; cat /proc/self/oom_score_adj';
  const withResources = (name: string, resources: string) =>
    pod(name, script, '', '').replace('      volumeMounts', `      resources: ${resources}\n      volumeMounts`);
  const all = '{ cpu: 100m, memory: 64Mi }';
  await apply(
    withResources('guaranteed', `{ requests: ${all}, limits: ${all} }`) +
      withResources('burstable', '{ requests: { cpu: 50m, memory: 32Mi }, limits: { memory: 96Mi } }') +
      withResources('best-effort', '{}'),
  );
  const host = JSON.parse(await cluster.docker(['info', '-f', '{{json .}}'])) as { MemTotal: number };
  const nodes = await cluster.nodes();
  const seen: Record<string, unknown> = {};
  for (const name of ['guaranteed', 'burstable', 'best-effort']) {
    await untilSucceeded(name);
    const { status, spec } = await cluster.get(PODS, namespace.name, name);
    const options = (await engineOptions(namespace.name, name)).get('main') ?? {};
    const { CpuShares, CpuQuota, Memory, MemorySwap, LogConfig, PidsLimit } = options;
    expect(LogConfig).toEqual({ Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } });
    expect(PidsLimit).toBeGreaterThan(0);
    const [shm, score] = (await kubectl(['logs', name])).trim().split('\n').map(Number);
    const capacity = nodes.find(({ metadata }) => metadata.name === spec?.nodeName)?.status?.capacity?.['memory'] ?? '';
    seen[name] = { qos: status?.qosClass, CpuShares, CpuQuota, Memory, MemorySwap, shm };
    // Where the engine may not lower a score, 0 is the lowest.
    if (name === 'guaranteed') expect([-997, 0]).toContain(score);
    else if (name === 'best-effort') expect(score).toBe(1000);
    else expect([quantityValue(capacity), host.MemTotal].map((bytes) => burstableScore(bytes))).toContain(score);
  }
  const Mi = 2 ** 20;
  const shm = 65_536;
  expect(seen).toEqual({
    guaranteed: { qos: 'Guaranteed', CpuShares: 102, CpuQuota: 10_000, Memory: 64 * Mi, MemorySwap: 64 * Mi, shm },
    burstable: { qos: 'Burstable', CpuShares: 51, CpuQuota: 0, Memory: 96 * Mi, MemorySwap: 96 * Mi, shm },
    'best-effort': { qos: 'BestEffort', CpuShares: 2, CpuQuota: 0, Memory: 0, MemorySwap: 0, shm },
  });
});

test('the kernel kills a critical pod last, and no sidecar before the main container that needs it', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const script = 'cat /proc/self/oom_score_adj';
  const sidecar = `  initContainers:
    - name: sidecar
      image: busybox:1.36
      restartPolicy: Always
      startupProbe: { exec: { command: [test, -f, /tmp/up] }, periodSeconds: 1, timeoutSeconds: 60, failureThreshold: 60 }
      command: [sh, -c, '${script}; touch /tmp/up; exec sleep 3600']`;
  const request = 'resources: { requests: { memory: 256Mi } }';
  await apply(
    pod('critical', script, '', '', '  priorityClassName: system-node-critical') +
      pod('helped', script, '', '', sidecar).replace('      volumeMounts', `      ${request}\n      volumeMounts`),
  );
  for (const name of ['critical', 'helped']) await untilSucceeded(name);
  const score = async (name: string, container: string) => Number(await kubectl(['logs', name, '-c', container]));
  // Of class BestEffort. Where the engine may not lower a score, 0 is the lowest.
  expect([-997, 0]).toContain(await score('critical', 'main'));
  const main = await score('helped', 'main');
  expect(main).toBeLessThan(999);
  expect(await score('helped', 'sidecar')).toBe(main);
});

test('a container has the users, rights and files that its security context says', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const script = [
    'id -u; id -g; id -G',
    "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '[:space:]' ' '; echo",
    'touch /file 2>/dev/null && echo writable || echo read-only',
    'test -e /proc/sys/net/ipv4/ip_unprivileged_port_start && cat /proc/sys/net/ipv4/ip_unprivileged_port_start',
  ].join(';');
  const withContext = (name: string, ofPod: string, ofContainer: string) =>
    pod(name, script, '', '', `  securityContext: ${ofPod}`).replace(
      '      volumeMounts',
      `      securityContext: ${ofContainer}\n      volumeMounts`,
    );
  await apply(
    withContext(
      'strict',
      '{ runAsUser: 1000, runAsGroup: 3000, runAsNonRoot: true, fsGroup: 2000, supplementalGroups: [4000, 5000], sysctls: [{ name: net.ipv4.ip_unprivileged_port_start, value: "81" }], seccompProfile: { type: RuntimeDefault } }',
      '{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL], add: [NET_BIND_SERVICE] } }',
    ) +
      withContext(
        'loose',
        '{ seccompProfile: { type: Unconfined } }',
        '{ capabilities: { drop: [ALL], add: [NET_RAW, CHOWN] } }',
      ),
  );
  for (const name of ['strict', 'loose']) await untilSucceeded(name);
  const [uid, gid, groups, rights, files, port] = (await kubectl(['logs', 'strict'])).trim().split('\n');
  expect([uid, gid, files, port]).toEqual(['1000', '3000', 'read-only', '81']);
  expect(groups?.split(' ').toSorted()).toEqual(['2000', '3000', '4000', '5000']);
  expect(rights?.trim()).toBe('CapEff: 0000000000000000 CapBnd: 0000000000000400 NoNewPrivs: 1 Seccomp: 2');
  expect((await kubectl(['logs', 'loose'])).trim().split('\n').slice(3, 5)).toEqual([
    'CapEff: 0000000000002001 CapBnd: 0000000000002001 NoNewPrivs: 0 Seccomp: 0 ',
    'writable',
  ]);
});

test('a container has the groups of its image by the policy of its pod, and its status says which', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply } = inNamespace(namespace.name);
  const image = `gantry.test/${namespace.name}:1`;
  const users = 'echo app:x:1000:1001::/:/bin/sh >> /etc/passwd && echo disk:x:50000:app >> /etc/group';
  await buildImage(image, `FROM busybox:1.36\nRUN ${users}\n`, 'classic');
  onTestFinished(async () => {
    await cluster.docker(['rmi', '-f', image]);
  });
  const contexts = {
    merge: '{ runAsUser: 1000, supplementalGroups: [60000] }',
    strict: '{ runAsUser: 1000, supplementalGroups: [60000], supplementalGroupsPolicy: Strict }',
    group: '{ runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000 }',
  };
  await apply(
    Object.entries(contexts)
      .map(([name, context]) => pod(name, 'exec sleep 3600', '', '', `  securityContext: ${context}`))
      .join('')
      .replaceAll('busybox:1.36', image),
  );
  const user = (gid: number, others: readonly number[]) => ({
    linux: { uid: 1000, gid, supplementalGroups: [gid, ...others] },
  });
  const expected = {
    merge: user(1001, [50_000, 60_000]),
    strict: user(1001, [60_000]),
    group: user(3000, [50_000, 2000]),
  };
  for (const [name, shown] of Object.entries(expected)) {
    await kubectl(['wait', '--for=condition=Ready', 'pod', name, '--timeout=120s']);
    const status = await kubectl(['get', 'pod', name, '-o', 'jsonpath={.status.containerStatuses[0].user}']);
    expect(JSON.parse(status)).toEqual(shown);
    const groups = (await kubectl(['exec', name, '--', 'id', '-G'])).trim().split(' ').map(Number);
    expect(groups.toSorted()).toEqual(shown.linux.supplementalGroups.toSorted());
  }
  const features = await kubectl([
    'get',
    'nodes',
    '-o',
    'jsonpath={.items[*].status.features.supplementalGroupsPolicy}',
  ]);
  expect(new Set(features.split(' '))).toEqual(new Set(['true']));
});

test('variables come from literals, the pod, ConfigMaps and Secrets, and refer to each other', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await kubectl(['create', 'configmap', 'settings', '--from-literal=mode=slow', '--from-literal=1-odd.name=odd']);
  await kubectl(['create', 'secret', 'generic', 'keys', '--from-literal=key=sesame']);
  const env = [
    '{ name: PLAIN, value: one }',
    '{ name: JOINED, value: "$(PLAIN)-$(MODE)-$$(PLAIN)-$(NONE)" }',
    '{ name: MODE, valueFrom: { configMapKeyRef: { name: settings, key: mode } } }',
    '{ name: LATER, value: "$(MODE)" }',
    '{ name: KEY, valueFrom: { secretKeyRef: { name: keys, key: key } } }',
    '{ name: ABSENT, valueFrom: { secretKeyRef: { name: keys, key: none, optional: true } } }',
    '{ name: NODE, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }',
    '{ name: COLOR, valueFrom: { fieldRef: { fieldPath: "metadata.labels[\'color\']" } } }',
  ];
  const from = [
    '{ prefix: S_, configMapRef: { name: settings } }',
    '{ secretRef: { name: keys } }',
    '{ configMapRef: { name: none, optional: true } }',
  ];
  const lines = `      env: [${env.join(', ')}]\n      envFrom: [${from.join(', ')}]\n      volumeMounts`;
  const script =
    'echo "$JOINED $LATER $KEY ${ABSENT-unset} $COLOR $NODE"; tr "\\000" "\\n" < /proc/1/environ | grep -E "^(S_|key)" | sort; echo $(KEY) "$(echo $$)"';
  const labelled = pod('variables', script, '', '')
    .replace('metadata: { name: variables }', 'metadata: { name: variables, labels: { color: blue } }')
    .replace('      volumeMounts', () => lines);
  await apply(
    labelled +
      pod('missing', 'true', '', '').replace(
        '      volumeMounts',
        '      env: [{ name: X, valueFrom: { configMapKeyRef: { name: settings, key: none } } }]\n      volumeMounts',
      ),
  );
  await untilSucceeded('variables');
  const { spec } = await cluster.get(PODS, namespace.name, 'variables');
  expect((await kubectl(['logs', 'variables'])).trim().split('\n')).toEqual([
    `one-$(MODE)-$(PLAIN)-$(NONE) slow sesame unset blue ${spec?.nodeName}`,
    'S_1-odd.name=odd',
    'S_mode=slow',
    'key=sesame',
    // The kubelet replaces references in a command, as here, too.
    expect.stringMatching(/^sesame \d+$/),
  ]);
  await untilDescribed('missing', `couldn't find key none in ConfigMap ${namespace.name}/settings`);
});

test('a pod has its names, resolvers and processes, or those of the host', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const named = [
    '  hostname: db',
    '  subdomain: shop',
    '  setHostnameAsFQDN: true',
    '  hostAliases: [{ ip: 10.9.8.7, hostnames: [one.test, two.test] }]',
    '  dnsPolicy: None',
    '  dnsConfig: { nameservers: [10.9.9.9], searches: [shop.test], options: [{ name: ndots, value: "2" }] }',
  ].join('\n');
  const ofHost = '  hostNetwork: true\n  hostPID: true\n  hostIPC: true';
  const together = '  shareProcessNamespace: true';
  const spaces = 'for name in net pid ipc; do readlink /proc/self/ns/$name; done';
  await apply(
    pod('named', 'hostname; cat /etc/hostname /etc/hosts /etc/resolv.conf', '', '', named) +
      pod('of-host', spaces, '', '', ofHost) +
      pod('together', 'until killall sleep 2>/dev/null; do sleep 0.1; done', '', '', together).replace(
        '  volumes',
        '    - { name: other, image: "busybox:1.36", command: [sh, -c, "sleep 4712; true"] }\n  volumes',
      ),
  );
  for (const name of ['named', 'of-host', 'together']) await untilSucceeded(name);
  const domain = `shop.${namespace.name}.svc.cluster.local`;
  const { status } = await cluster.get(PODS, namespace.name, 'named');
  const lines = (await kubectl(['logs', 'named'])).trim().split('\n');
  expect(lines.slice(0, 2)).toEqual([`db.${domain}`, `db.${domain}`]);
  expect(lines).toContain(`${status?.podIP}\tdb.${domain}\tdb`);
  expect(lines).toContain('10.9.8.7\tone.test\ttwo.test');
  expect(lines.slice(-3)).toEqual(['search shop.test', 'nameserver 10.9.9.9', 'options ndots:2']);
  const host = ['run', '--rm', '--network=host', '--pid=host', '--ipc=host', 'busybox:1.36', 'sh', '-c', spaces];
  expect((await kubectl(['logs', 'of-host'])).trim()).toBe(await cluster.docker(host));
  await kubectl(['delete', 'pod', '--all']);
});

test('a RuntimeClass adds its overhead, for which a node needs room; one that the engine lacks is refused', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  const names = ['known', 'unknown', 'large'].map((name) => `${namespace.name}-${name}`);
  const [known = '', unknown = '', large = ''] = names;
  const [node] = await cluster.nodes();
  const kind = (name: string, handler: string, memory = '7Mi') => `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: ${name} }
handler: ${handler}
overhead: { podFixed: { memory: ${memory} } }
---
`;
  try {
    await apply(kind(known, 'runc') + kind(unknown, 'gantry-none') + kind(large, 'runc', '1Pi'));
    await apply(
      pod('known', 'true', '', '', `  runtimeClassName: ${known}`) +
        pod('unknown', 'true', '', '', `  runtimeClassName: ${unknown}`) +
        pod('large', 'true', '', '', `  runtimeClassName: ${large}\n  nodeName: ${node?.metadata.name}`),
    );
    await untilSucceeded('known');
    expect((await cluster.get(PODS, namespace.name, 'known')).spec?.overhead).toEqual({ memory: '7Mi' });
    const room = await eventually('the node has no room for the overhead', 120_000, async () => {
      const { status } = await cluster.get(PODS, namespace.name, 'large');
      return status?.phase === 'Failed' ? status : undefined;
    });
    expect(room).toMatchObject({ reason: 'OutOfmemory', message: expect.stringContaining(`requested: ${2 ** 50}`) });
    await untilDescribed('unknown', 'failed to get sandbox runtime: no runtime for "gantry-none" is configured');
  } finally {
    await kubectl(['delete', 'runtimeclass', ...names]);
  }
});
