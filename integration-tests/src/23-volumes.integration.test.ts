/**
 * Persistent volumes with the real kubectl: folders on the nodes, made for claims, outliving pods and agents; and what else a cloud
 * gives a cluster: machines with names and zones, and addresses of load balancers.
 */
import { networkInterfaces } from 'node:os';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, STAYING } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

const claim = (name: string) => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: ${name} }
spec:
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 100Mi } }
`;

/** A volume of an administrator for one claim, and that claim. `group` is its class, and begins its name. */
const claimedVolume = (namespace: string, group: string, suffix: string, source: string) => `
apiVersion: v1
kind: PersistentVolume
metadata: { name: ${group}-${suffix} }
spec:
  storageClassName: ${group}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  capacity: { storage: 100Mi }
  claimRef: { namespace: ${namespace}, name: ${suffix} }
  ${source}
---
${claim(suffix)}  storageClassName: ${group}
---
`;

const pod = (name: string, script: string, more = '') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, ${JSON.stringify(script)}]
      securityContext: { runAsUser: 1234 }
      volumeMounts:
        - { name: data, mountPath: /data${more} }
  volumes:
    - { name: data, persistentVolumeClaim: { claimName: data } }
`;

test('a claim gets a folder with its first pod; the next pod finds the data; it grows; it is removed with its folder', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (args: readonly string[], input = '') =>
    cluster.mustKubectl(['-n', namespace.name, ...args], { input });
  const apply = (manifest: string) => kubectl(['apply', '-f', '-'], manifest);
  const untilSucceeded = (name: string) =>
    eventually(`${name} has succeeded`, PATIENCE_MS, async () => {
      const { status, spec } = await cluster.get(PODS, namespace.name, name);
      expect(status?.phase).not.toBe('Failed');
      return status?.phase === 'Succeeded' ? spec?.nodeName : undefined;
    });
  const inAgentOf = async (node: string, script: string) => {
    const agents = await cluster.containers('agent');
    const agent = agents.find(({ name }) => name.endsWith(`-${node.split('-').at(-1) ?? ''}`));
    return await cluster.docker(['exec', agent?.id ?? '', 'sh', '-c', script]);
  };

  // The class that a new cluster has.
  expect(await kubectl(['get', 'storageclass', '--no-headers'])).toMatch(
    /^local-path \(default\) +rancher\.io\/local-path +Delete +WaitForFirstConsumer +true /m,
  );
  await apply(claim('data'));
  await eventually('the claim waits for a pod', PATIENCE_MS, async () =>
    (await kubectl(['describe', 'pvc', 'data'])).includes('waiting for first consumer to be created before binding'),
  );

  await apply(pod('writer', 'echo kept > /data/file && mkdir /data/inner && echo inner > /data/inner/file'));
  const node = (await untilSucceeded('writer')) ?? '';
  const bound = await cluster.get(PERSISTENT_VOLUME_CLAIMS, namespace.name, 'data');
  const volumeName = bound.spec?.volumeName ?? '';
  expect(bound.status).toMatchObject({ phase: 'Bound', capacity: { storage: '100Mi' } });
  const described = await kubectl(['describe', 'pv', volumeName]);
  expect(described).toMatch(new RegExp(`kubernetes.io/hostname in \\[${node}\\]`));
  expect(await inAgentOf(node, `cat /var/lib/gantry/volumes/${node}/${volumeName}/file`)).toBe('kept');

  // Its pod is replaced, and the agent too.
  await kubectl(['delete', 'pod', 'writer']);
  await cluster.compose(['restart', '--timeout', '2', 'agent']);
  await apply(pod('reader', 'cat /data/file'));
  expect(await untilSucceeded('reader')).toBe(node);
  expect(await kubectl(['logs', 'reader'])).toBe('kept\n');
  await apply(pod('inner', 'cat /data/file; ! touch /data/new', ', subPath: inner, readOnly: true'));
  await untilSucceeded('inner');
  expect(await kubectl(['logs', 'inner'])).toContain('inner\n');

  await kubectl(['patch', 'pvc', 'data', '--patch', '{"spec":{"resources":{"requests":{"storage":"200Mi"}}}}']);
  await eventually('the claim has grown', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PERSISTENT_VOLUME_CLAIMS, namespace.name, 'data');
    return status?.capacity?.['storage'] === '200Mi';
  });
  expect((await cluster.get(PERSISTENT_VOLUMES, '', volumeName)).spec?.capacity).toEqual({ storage: '200Mi' });

  // A claim in use waits for its pods; a pod that has ended counts, as in Kubernetes.
  await kubectl(['delete', 'pvc', 'data', '--wait=false']);
  expect((await cluster.get(PERSISTENT_VOLUME_CLAIMS, namespace.name, 'data')).status?.phase).toBe('Bound');
  await kubectl(['delete', 'pod', 'reader', 'inner']);
  await eventually('claim and volume are gone', PATIENCE_MS, async () => {
    const claims = await cluster.list(PERSISTENT_VOLUME_CLAIMS, namespace.name);
    const volumes = await cluster.list(PERSISTENT_VOLUMES);
    return claims.length === 0 && !volumes.some(({ metadata }) => metadata.name === volumeName);
  });
  // Those of earlier tests go with their namespaces.
  await eventually(
    'no folder is left',
    PATIENCE_MS,
    async () => (await inAgentOf(node, `ls /var/lib/gantry/volumes/${node}`)) === '',
  );
});

test('a hostPath or local volume of an administrator is the path of the host that it names, on its nodes', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (args: readonly string[], input = '') =>
    cluster.mustKubectl(['-n', namespace.name, ...args], { input });
  const name = `host-${namespace.name}`;
  const folder = `/tmp/gantry-${namespace.name}`;
  const onHost = (script: string) =>
    cluster.docker(['run', '--rm', '-v', '/tmp:/tmp', 'busybox:1.36', 'sh', '-c', script]);
  const [node] = await cluster.nodes();
  const terms = (host: string) =>
    `[{ matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [${host}] }] }]`;
  const volume = (suffix: string, source: string) => claimedVolume(namespace.name, name, suffix, source);
  const affinity = `nodeAffinity: { required: { nodeSelectorTerms: ${terms(node?.metadata.name ?? '')} } }`;
  const user = (podName: string, claimName: string, script: string, more = '') =>
    `${pod(podName, script, more)}---`.replace('claimName: data', `claimName: ${claimName}`);
  const untilPhase = (phase: string, podName: string) =>
    kubectl(['wait', `--for=jsonpath={.status.phase}=${phase}`, `pod/${podName}`, '--timeout=90s']);
  const untilRefused = (podName: string, message: string) =>
    eventually(`the mount of ${podName} is refused`, PATIENCE_MS, async () =>
      (await kubectl(['describe', 'pod', podName])).includes(message),
    );
  try {
    await onHost(`mkdir -p ${folder}/local && echo before > ${folder}/local/file && chmod -R a+rwX ${folder}`);
    await kubectl(
      ['apply', '-f', '-'],
      [
        volume('made', `hostPath: { path: ${folder}/made, type: DirectoryOrCreate }`),
        volume('local', `local: { path: ${folder}/local }\n  ${affinity}`),
        volume('missing', `local: { path: ${folder}/missing }\n  ${affinity}`),
        volume('file', `hostPath: { path: ${folder}/local/file, type: Directory }`),
        volume('agents', 'hostPath: { path: /var/lib/gantry/volumes/a/b }'),
      ].join(''),
    );
    const asRoot = (text: string) => text.replaceAll('runAsUser: 1234', 'runAsUser: 0');
    await kubectl(
      ['apply', '-f', '-'],
      [
        asRoot(user('writer', 'made', 'echo made > /data/file')),
        user('local', 'local', 'cat /data/file && echo after > /data/file'),
        user('missing', 'missing', 'true'),
        user('file', 'file', 'true'),
        user('agents', 'agents', 'true'),
      ].join(''),
    );
    await untilPhase('Succeeded', 'writer');
    await untilPhase('Succeeded', 'local');
    expect(await kubectl(['logs', 'local'])).toBe('before\n');
    expect((await cluster.get(PODS, namespace.name, 'local')).spec?.nodeName).toBe(node?.metadata.name);
    await kubectl(
      ['apply', '-f', '-'],
      user('reader', 'made', 'cat /data/file; ! touch /data/new', ', readOnly: true'),
    );
    await untilPhase('Succeeded', 'reader');
    expect(await kubectl(['logs', 'reader'])).toContain('made\n');
    await untilRefused('missing', `path "${folder}/missing" does not exist`);
    await untilRefused('file', `hostPath type check failed: ${folder}/local/file is not a directory`);
    await untilRefused('agents', `PersistentVolume "${name}-agents" is not a folder of this node`);
    await kubectl(['delete', 'pod,pvc', '--all']);
    // It is an administrator's: what lies there stays.
    expect(await onHost(`cat ${folder}/made/file ${folder}/local/file`)).toBe('made\nafter');
  } finally {
    const volumes = ['made', 'local', 'missing', 'file', 'agents'].map((suffix) => `${name}-${suffix}`);
    await kubectl(['delete', 'pod,pvc', '--all']);
    await kubectl(['delete', 'pv', '--ignore-not-found', ...volumes]);
    await onHost(`rm -rf ${folder}`);
  }
});

test('a part of what lies on the host is mounted by subPath and subPathExpr, and stays through restarts of its container and its agent', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (args: readonly string[], input = '') =>
    cluster.mustKubectl(['-n', namespace.name, ...args], { input });
  const name = `part-${namespace.name}`;
  const folder = `/tmp/gantry-${namespace.name}`;
  const onHost = (script: string) =>
    cluster.docker(['run', '--rm', '-v', '/tmp:/tmp', 'busybox:1.36', 'sh', '-c', script]);
  const [node] = await cluster.nodes();
  const nodeName = node?.metadata.name ?? '';
  const terms = `[{ matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [${nodeName}] }] }]`;
  const sources = {
    path: { volume: `hostPath: { path: ${folder}/path, type: Directory }` },
    claimed: {
      volume: 'persistentVolumeClaim: { claimName: claimed }',
      persistent: `hostPath: { path: ${folder}/claimed }`,
    },
    local: {
      volume: 'persistentVolumeClaim: { claimName: local }',
      persistent: `local: { path: ${folder}/local }\n  nodeAffinity: { required: { nodeSelectorTerms: ${terms} } }`,
    },
  };
  const persistent = (suffix: string, source: string) => claimedVolume(namespace.name, name, suffix, source);
  const script = `trap 'exit 0' TERM; echo started >> /new/starts; echo $ME > /own/name; echo changed >> /file || true
    while true; do sleep 0.2; done`;
  const user = (podName: string, volume: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${podName}, annotations: { gantry.dev/max-restart-delay-seconds: "1" } }
spec:
  nodeName: ${nodeName}
  tolerations: ${JSON.stringify(STAYING)}
  terminationGracePeriodSeconds: 5
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, ${JSON.stringify(script)}]
      env: [{ name: ME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }]
      securityContext: { runAsUser: 1234 }
      volumeMounts:
        - { name: data, mountPath: /new, subPath: new/deep }
        - { name: data, mountPath: /own, subPathExpr: of/$(ME) }
        - { name: data, mountPath: /file, subPath: file, readOnly: true }
  volumes:
    - { name: data, ${volume} }
---
`;
  const names = Object.keys(sources);
  const untilRestarted = (podName: string, restarts: number) =>
    eventually(`${podName} runs after ${restarts} restarts`, PATIENCE_MS, async () => {
      const { status } = await cluster.get(PODS, namespace.name, podName);
      const [main] = status?.containerStatuses ?? [];
      return main?.state?.running !== undefined && main.restartCount === restarts;
    });
  const restart = async (restarts: number) => {
    // The end of the container may end the command that asks for it, too: that it was restarted shows that it was asked.
    for (const podName of names)
      await cluster.kubectl(['-n', namespace.name, 'exec', podName, '--', 'sh', '-c', 'kill 1']);
    for (const podName of names) await untilRestarted(podName, restarts);
  };
  const seen = async (podName: string) =>
    (await kubectl(['exec', podName, '--', 'sh', '-c', 'cat /new/starts /own/name /file'])).trim().split('\n');
  const untilSeen = (podName: string, starts: number) =>
    eventually(`${podName} has what lies on the host`, PATIENCE_MS, async () => {
      const expected = [...Array.from({ length: starts }, () => 'started'), podName, 'given'];
      return JSON.stringify(await seen(podName)) === JSON.stringify(expected);
    });
  try {
    for (const each of names) {
      await onHost(
        `mkdir -p ${folder}/${each} && cd ${folder}/${each} && echo given > file && chmod 666 file && chmod 2777 .`,
      );
    }
    const manifests = Object.entries(sources).map(([podName, source]) => {
      const made = 'persistent' in source ? persistent(podName, source.persistent) : '';
      return `${made}${user(podName, source.volume)}`;
    });
    await kubectl(['apply', '-f', '-'], manifests.join(''));
    for (const podName of names) {
      await untilRestarted(podName, 0);
      await untilSeen(podName, 1);
    }
    await restart(1);
    for (const podName of names) await untilSeen(podName, 2);

    await cluster.compose(['restart', '--timeout', '2', 'agent']);
    for (const podName of names) await untilSeen(podName, 2);
    await restart(2);
    for (const podName of names) await untilSeen(podName, 3);

    const agents = await cluster.containers('agent');
    for (const { id } of agents) {
      const bound = ['exec', id, 'sh', '-c', "grep -c '/binds/' /proc/self/mountinfo; true"];
      await eventually('no bound path is left', PATIENCE_MS, async () => (await cluster.docker(bound)) === '0');
    }
    await kubectl(['delete', 'pods', '--all', '--timeout=90s']);
    // It is an administrator's: what lies there stays. What was missing was made as the volume's folder is.
    for (const each of names) {
      const found = `cd ${folder}/${each} && wc -l < new/deep/starts && cat of/*/name && stat -c '%u %a' new/deep && ls`;
      expect((await onHost(found)).split('\n')).toEqual(['3', each, '0 2777', 'file', 'new', 'of']);
    }
  } finally {
    await kubectl(['delete', 'pod,pvc', '--all']);
    await kubectl(['delete', 'pv', '--ignore-not-found', `${name}-claimed`, `${name}-local`]);
    await onHost(`rm -rf ${folder}`);
  }
});

test("a pod's own claim is made with it, and goes with it", async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (args: readonly string[], input = '') =>
    cluster.mustKubectl(['-n', namespace.name, ...args], { input });
  const template = '{ spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Mi } } } }';
  const manifest = pod('scratch', 'echo x > /data/file').replace(
    '{ name: data, persistentVolumeClaim: { claimName: data } }',
    `{ name: data, ephemeral: { volumeClaimTemplate: ${template} } }`,
  );
  await kubectl(['apply', '-f', '-'], manifest);
  await kubectl(['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/scratch', '--timeout=90s']);
  expect(await kubectl(['get', 'pvc', '-o', 'name'])).toBe('persistentvolumeclaim/scratch-data\n');
  await kubectl(['delete', 'pod', 'scratch']);
  await kubectl(['wait', '--for=delete', 'pvc/scratch-data', '--timeout=90s']);
});

test('nodes have the names and zones of a cloud, and a Service of type LoadBalancer gets an address of the host', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (args: readonly string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const nodes = await cluster.nodes();
  const engine = nodes[0]?.metadata.labels?.['gantry.dev/engine'] ?? '';
  for (const { metadata, spec } of nodes) {
    expect(spec?.providerID).toBe(`gantry://${engine}/${metadata.name}`);
    expect(metadata.labels?.['topology.kubernetes.io/zone']).toBe(engine);
  }
  await kubectl(['create', 'service', 'loadbalancer', 'web', '--tcp=80']);
  await kubectl(['run', 'web', '--image=nginx:1.7.9', '--labels=app=web']);
  const address = await eventually('the Service has an address', PATIENCE_MS, async () => {
    const text = await kubectl(['get', 'service', 'web', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ip}']);
    return text === '' ? undefined : text;
  });
  await eventually('the host has it', PATIENCE_MS, async () => {
    const ofThisHost = Object.values(networkInterfaces()).flatMap((one) => one?.map((each) => each.address) ?? []);
    return await Promise.resolve(ofThisHost.includes(address));
  });
  await eventually('its Events are there', PATIENCE_MS, async () =>
    (await kubectl(['describe', 'service', 'web'])).includes('Ensured load balancer'),
  );
  await kubectl(['delete', 'service', 'web', '--timeout=90s']);
});
