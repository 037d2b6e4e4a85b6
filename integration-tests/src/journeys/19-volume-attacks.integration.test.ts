/** Pods that try to reach the host through their volumes. Every pod here is one that Pod Security `restricted` admits. */
import {
  type Container as PodContainer,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Pod,
  PODS,
  SECRETS,
  type Volume,
} from '@gantry/objects';
import { describe, expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const USER = 12345;
const WORK: Volume = { name: 'scratch', emptyDir: {} };
const WHOLE = { name: 'scratch', mountPath: '/scratch' };
const RACE_PODS = 12;
const PATIENCE_MS = 120_000;

const shell = (name: string, script: string, change: Partial<PodContainer> = {}): PodContainer => ({
  name,
  image: IMAGE,
  command: ['sh', '-c', script],
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
  },
  ...change,
});

const podOf = (name: string, spec: Partial<Pod['spec']> & { readonly containers: PodContainer[] }): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    volumes: [WORK],
    securityContext: { runAsNonRoot: true, runAsUser: USER, seccompProfile: { type: 'RuntimeDefault' } },
    ...spec,
  },
});

/** A pod whose init container prepares the volume and whose main container mounts a subPath of it and lists that. */
const attack = (name: string, prepare: string, subPath: string, volume = WORK): Pod =>
  podOf(name, {
    volumes: [volume],
    initContainers: [shell('prepare', prepare, { volumeMounts: [WHOLE] })],
    containers: [
      shell('main', 'ls -A /seen; cat /seen', { volumeMounts: [{ name: 'scratch', mountPath: '/seen', subPath }] }),
    ],
  });

async function restricted(): Promise<AsyncDisposable & { readonly name: string }> {
  const namespace = await cluster.namespace();
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await cluster.api.patch(
    NAMESPACES,
    { namespace: '', name: namespace.name },
    { merge: { metadata: { labels } } },
    AbortSignal.timeout(PATIENCE_MS),
  );
  return namespace;
}

const untilEnded = (namespace: string, name: string) =>
  eventually(`${name} has ended`, PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace, name);
    return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' ? pod : undefined;
  });

const untilWaiting = (namespace: string, name: string) =>
  eventually(`${name} was refused`, PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace, name);
    const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting;
    return waiting?.reason?.includes('Error') === true ? waiting : undefined;
  });

const logs = (namespace: string, name: string) => cluster.mustKubectl(['logs', '-n', namespace, name, '-c', 'main']);

/** The folder of the authority's key on the engine's host. */
async function authorityFolder(): Promise<string> {
  return await cluster.docker(['volume', 'inspect', '-f', '{{.Mountpoint}}', `${cluster.clusterId}_pki-ca`]);
}

const inAgent = async (script: string) => {
  const [agent] = await cluster.containers('agent');
  return await cluster.docker(['exec', agent?.id ?? '', 'sh', '-c', script]);
};

/** Volumes of a namespace that a pod of it may write to, by the names of pods, which have one each. */
interface Scratch extends AsyncDisposable {
  readonly of: (pod: string) => Promise<Volume>;
}

const emptyDirs = async (): Promise<Scratch> => ({
  of: async () => WORK,
  [Symbol.asyncDispose]: async () => undefined,
});

/** A folder of the host for each pod, by a claim that an administrator has bound to it. */
async function hostFolders(namespace: string): Promise<Scratch> {
  const folder = `/tmp/gantry-${namespace}`;
  const onHost = (script: string) =>
    cluster.docker(['run', '--rm', '--network=none', '-v', '/tmp:/tmp', IMAGE, 'sh', '-c', script]);
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: namespace };
  const abort = () => AbortSignal.timeout(PATIENCE_MS);
  await onHost(`mkdir -p ${folder}`);
  const volumes: string[] = [];
  return {
    of: async (pod) => {
      const name = `${namespace}-${pod}`;
      await onHost(`mkdir -m 777 ${folder}/${pod}`);
      volumes.push(name);
      await cluster.create(PERSISTENT_VOLUMES, '', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: {
          ...common,
          persistentVolumeReclaimPolicy: 'Retain',
          capacity: { storage: '1Mi' },
          claimRef: { namespace, name: pod },
          hostPath: { path: `${folder}/${pod}`, type: 'Directory' },
        },
      });
      await cluster.create(PERSISTENT_VOLUME_CLAIMS, namespace, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: pod },
        spec: { ...common, volumeName: name, resources: { requests: { storage: '1Mi' } } },
      });
      return { name: 'scratch', persistentVolumeClaim: { claimName: pod } };
    },
    [Symbol.asyncDispose]: async () => {
      await cluster.mustKubectl(['delete', 'pods', '--all', '-n', namespace, '--timeout=170s']);
      for (const name of volumes) {
        await cluster.api.delete(PERSISTENT_VOLUMES, { namespace: '', name }, {}, abort());
      }
      await onHost(`rm -rf ${folder}`);
    },
  };
}

describe.each([
  ['an emptyDir', emptyDirs],
  ['a folder of the host', hostFolders],
])('a subPath in %s', (_, scratchOf) => {
  test('never leads to the host: links, absolute and relative, to folders and files, of the host and of the agent', async () => {
    await using namespace = await restricted();
    await using scratch = await scratchOf(namespace.name);
    const authority = await authorityFolder();
    const attacks: Readonly<Record<string, readonly [prepare: string, subPath: string]>> = {
      'root-link': ['ln -s / /scratch/link', `link${authority}`],
      'folder-link': [`ln -s ${authority} /scratch/link`, 'link'],
      'file-link': [`ln -s ${authority}/ca.key /scratch/link`, 'link'],
      'climbing-link': ['ln -s ../../../../../../../../../../../../.. /scratch/link', `link${authority}`],
      'link-behind-folder': ['mkdir -p /scratch/a/b && ln -s /etc /scratch/a/b/link', 'a/b/link/shadow'],
      'link-of-process': ['ln -s /proc/self/root /scratch/link', `link${authority}`],
      'link-to-create': ['ln -s /made-by-a-pod /scratch/link', 'link/new/folder'],
      'dangling-link': ['ln -s nowhere /scratch/link', 'link'],
      'chain-of-links': ['ln -s b /scratch/a && ln -s c/.. /scratch/b && ln -s / /scratch/c', `a${authority}`],
      'keys-of-the-agent': ['ln -s /var/lib/gantry-keys /scratch/link', 'link/client'],
    };
    for (const [name, [prepare, subPath]] of Object.entries(attacks)) {
      await cluster.create(PODS, namespace.name, attack(name, prepare, subPath, await scratch.of(name)));
    }
    for (const name of Object.keys(attacks)) {
      expect(await untilWaiting(namespace.name, name), name).toEqual({
        reason: 'CreateContainerConfigError',
        message: 'failed to prepare subPath for volumeMount "scratch" of container "main"',
      });
    }
    const onHost = ['run', '--rm', '--network', 'none', '-v', '/:/host:ro', IMAGE, 'ls', '/host'];
    expect((await cluster.docker(onHost)).split('\n')).not.toContain('made-by-a-pod');
    expect((await inAgent('ls /')).split('\n')).not.toContain('made-by-a-pod');
  });

  test('never leads to the host while the pod exchanges a folder and a link to it', async () => {
    await using namespace = await restricted();
    await using scratch = await scratchOf(namespace.name);
    const authority = await authorityFolder();
    // A main container exchanges the two without end; another one restarts and mounts whichever is there.
    const race = `mkdir -p /scratch/x${authority} && ln -s / /scratch/y
      while true; do mv -T /scratch/x /scratch/z; mv -T /scratch/y /scratch/x; mv -T /scratch/z /scratch/y; done`;
    const names = Array.from({ length: RACE_PODS }, (_, index) => `race-${index}`);
    for (const name of names) {
      const main = shell('main', 'ls -A /seen', {
        volumeMounts: [{ name: 'scratch', mountPath: '/seen', subPath: `x${authority}` }],
      });
      const racer = shell('racer', race, { volumeMounts: [WHOLE], restartPolicy: 'Always' });
      const volumes = [await scratch.of(name)];
      await cluster.create(PODS, namespace.name, podOf(name, { volumes, initContainers: [racer], containers: [main] }));
    }
    for (const name of names) {
      const ended = await untilEnded(namespace.name, name);
      expect(ended.status?.phase, name).toBe('Succeeded');
      // Empty: the folder of the volume. The authority's folder has its key in it.
      expect(await logs(namespace.name, name), name).toBe('');
    }
  });
});

describe('a subPath', () => {
  test('by an expression is refused where a variable makes it absolute or lead upwards', async () => {
    await using namespace = await restricted();
    const expressions = { absolute: '/etc', upwards: '../../..', empty: '' };
    for (const [name, value] of Object.entries(expressions)) {
      const main = shell('main', 'true', {
        env: [{ name: 'EVIL', value }],
        volumeMounts: [{ name: 'scratch', mountPath: '/seen', subPathExpr: '$(EVIL)' }],
      });
      await cluster.create(PODS, namespace.name, podOf(name, { containers: [main] }));
    }
    const messages = [];
    for (const name of Object.keys(expressions)) messages.push((await untilWaiting(namespace.name, name)).message);
    expect(messages).toEqual([
      'error SubPath `/etc` must not be an absolute path',
      "unable to provision SubPath `../../..`: must not contain '..'",
      'missing value for "EVIL"',
    ]);
  });

  test('works for folders, files, links inside the volume, new folders of any user, and keys of a Secret', async () => {
    await using namespace = await restricted();
    await cluster.create(SECRETS, namespace.name, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys' },
      stringData: { password: 'open sesame' },
    });
    const prepare =
      'mkdir -p /scratch/a/b && echo in-file >/scratch/a/file && ln -s a/../a/b/../file /scratch/link && mkfifo /scratch/fifo';
    const main = shell('main', 'cat /file /link /password; touch /new/x && ls /new; test -p /fifo && echo fifo', {
      volumeMounts: [
        { name: 'scratch', mountPath: '/file', subPath: 'a/file' },
        { name: 'scratch', mountPath: '/link', subPath: 'link' },
        { name: 'scratch', mountPath: '/new', subPath: 'new/deep' },
        { name: 'scratch', mountPath: '/fifo', subPath: 'fifo' },
        { name: 'keys', mountPath: '/password', subPath: 'password' },
      ],
    });
    const pod = podOf('usual', {
      volumes: [WORK, { name: 'keys', secret: { secretName: 'keys' } }],
      initContainers: [shell('prepare', prepare, { volumeMounts: [WHOLE] })],
      containers: [main],
    });
    await cluster.create(PODS, namespace.name, pod);
    expect((await untilEnded(namespace.name, 'usual')).status?.phase).toBe('Succeeded');
    expect(await logs(namespace.name, 'usual')).toBe('in-file\nin-file\nopen sesamex\nfifo\n');
  });
});

describe('an image as a volume', () => {
  test('shows the files of the image alone, whatever its author wrote, and is let go with its pod', async () => {
    await using namespace = await restricted();
    const authority = await authorityFolder();
    const image = `gantry.test/${namespace.name}:1`;
    const make = 'ln -s / /host; echo of the image > /etc/marker; mkdir /v; echo data > /v/data; ln -s /etc /v/link';
    await cluster.docker(['run', `--name=${namespace.name}`, '--network=none', IMAGE, 'sh', '-c', make]);
    const changes = [
      'ENTRYPOINT ["/host/made-by-an-image"]',
      'VOLUME /v',
      'USER no-such-user',
      'LABEL gantry.cluster=another',
    ];
    const change = changes.flatMap((line) => ['--change', line]);
    await cluster.docker(['commit', ...change, namespace.name, image]);
    await cluster.docker(['rm', namespace.name]);

    const volumes: Volume[] = [{ name: 'image', image: { reference: image } }];
    const mountOf = (mountPath: string, subPath = '') => ({ name: 'image', mountPath, subPath });
    const reader = [
      'cat /whole/v/data /etc-of-image/marker /marker',
      'touch /whole/new 2>/dev/null || echo read-only',
      '/whole/bin/echo runs',
    ].join('; ');
    const volumeMounts = [mountOf('/whole'), mountOf('/etc-of-image', 'host/etc'), mountOf('/marker', 'v/link/marker')];
    const pods = [
      podOf('reader', { volumes, containers: [shell('main', reader, { volumeMounts })] }),
      podOf('attack', {
        volumes,
        containers: [shell('main', 'true', { volumeMounts: [mountOf('/seen', `host${authority}`)] })],
      }),
      podOf('absent', {
        volumes: [{ name: 'image', image: { reference: 'gantry.test/none:1', pullPolicy: 'Never' } }],
        containers: [shell('main', 'true', { volumeMounts: [mountOf('/seen')] })],
      }),
    ];
    const uids: string[] = [];
    for (const pod of pods) uids.push((await cluster.create(PODS, namespace.name, pod)).metadata.uid ?? '');
    expect((await untilEnded(namespace.name, 'reader')).status?.phase).toBe('Succeeded');
    const lines = ['data', 'of the image', 'of the image', 'read-only', 'runs'];
    expect(await logs(namespace.name, 'reader')).toBe(`${lines.join('\n')}\n`);
    expect(await untilWaiting(namespace.name, 'attack')).toEqual({
      reason: 'CreateContainerError',
      message: 'failed to prepare subPath for volumeMount "image" of container "main"',
    });
    await eventually('an absent image is refused', PATIENCE_MS, async () => {
      const { status } = await cluster.get(PODS, namespace.name, 'absent');
      return status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull';
    });
    // The engine keeps it for the pods.
    await expect(cluster.docker(['rmi', image])).rejects.toThrow('is using its referenced image');

    await cluster.mustKubectl(['delete', 'pods', '--all', '-n', namespace.name, '--timeout=170s']);
    // The API server lets a pod that runs nothing go before its node has removed what is left of it.
    for (const uid of uids) {
      await eventually('the containers and mounts of a deleted pod are gone', PATIENCE_MS, async () => {
        const containers = await cluster.docker(['ps', '-aq', '--filter', `label=io.kubernetes.pod.uid=${uid}`]);
        return containers === '' && (await inAgent(`grep -c ${uid} /proc/self/mountinfo; true`)) === '0';
      });
    }
    await cluster.docker(['rmi', image]);
  });
});

describe('a termination message', () => {
  test('is bounded however large its file is, and is not written through a link', async () => {
    await using namespace = await restricted();
    const sparse = (size: string) => `dd if=/dev/zero of=/dev/termination-log bs=1 count=0 seek=${size} 2>/dev/null
      echo the end >>/dev/termination-log; exit 3`;
    await cluster.create(PODS, namespace.name, podOf('large', { containers: [shell('main', sparse('1536M'))] }));
    await cluster.create(PODS, namespace.name, podOf('huge', { containers: [shell('main', sparse('3072M'))] }));
    const linked = podOf('linked', {
      initContainers: [shell('prepare', 'ln -s / /scratch/link', { volumeMounts: [WHOLE] })],
      containers: [
        shell('main', 'echo hello >/scratch/link/tmp/message; cat /scratch/link/etc/hostname', {
          volumeMounts: [WHOLE],
          terminationMessagePath: '/scratch/link/tmp/message',
        }),
      ],
    });
    await cluster.create(PODS, namespace.name, linked);
    for (const name of ['large', 'huge']) {
      const ended = await untilEnded(namespace.name, name);
      const message = ended.status?.containerStatuses?.[0]?.state?.terminated?.message ?? '';
      expect(Buffer.byteLength(message), name).toBe(4096);
      expect(message.endsWith('the end\n'), name).toBe(true);
    }
    const ended = await untilEnded(namespace.name, 'linked');
    // The engine resolves the container's path inside the container.
    expect(ended.status?.containerStatuses?.[0]?.state?.terminated?.message).toBe('hello\n');
    expect(await logs(namespace.name, 'linked')).toBe('linked\n');
  });
});

describe('Secrets and tokens', () => {
  test('lie in memory, and so does an emptyDir that asks for it, with a size', async () => {
    await using namespace = await restricted();
    const marker = `marker-${process.pid}-${Math.floor(performance.now())}`;
    await cluster.create(SECRETS, namespace.name, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys' },
      stringData: { password: marker },
    });
    const script = `for f in /keys /fast /var/run/secrets/kubernetes.io/serviceaccount; do stat -f -c %T $f; done
      dd if=/dev/zero of=/fast/x bs=1M count=3 2>&1 | grep -c 'No space left'; echo ready; trap 'exit 0' TERM
      while true; do sleep 0.2; done`;
    const pod = podOf('memory', {
      volumes: [
        { name: 'keys', secret: { secretName: 'keys' } },
        { name: 'fast', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      ],
      containers: [
        shell('main', script, {
          volumeMounts: [
            { name: 'keys', mountPath: '/keys' },
            { name: 'fast', mountPath: '/fast' },
          ],
        }),
      ],
    });
    await cluster.create(PODS, namespace.name, pod);
    await eventually('the pod is ready', PATIENCE_MS, async () =>
      (await logs(namespace.name, 'memory')).includes('ready'),
    );
    expect(await logs(namespace.name, 'memory')).toBe('tmpfs\ntmpfs\ntmpfs\n1\nready\n');
    // `-xdev` stays on the disk of the state volume.
    expect(await inAgent(`find /var/lib/gantry -xdev -type f -exec grep -l ${marker} {} +; true`)).toBe('');
    expect(await inAgent(`grep -rl ${marker} /var/lib/gantry/nodes/*/memory | wc -l`)).toBe('1');

    const uid = (await cluster.get(PODS, namespace.name, 'memory')).metadata.uid ?? '';
    await cluster.mustKubectl(['delete', 'pod', '-n', namespace.name, 'memory', '--wait']);
    await eventually('nothing of the pod is left', PATIENCE_MS, async () => {
      const found = await inAgent(`grep -c ${uid} /proc/self/mountinfo; find /var/lib/gantry -name '${uid}*'; true`);
      return found === '0';
    });
  });

  test('and the keys of an agent are shown to no other agent', async () => {
    const agents = await cluster.containers('agent');
    const keys = new Set<string>();
    for (const { id } of agents) {
      const files = await cluster.docker(['exec', id, 'sh', '-c', 'sha256sum /var/lib/gantry-keys/*/tls.key']);
      for (const line of files.split('\n')) keys.add(line.split(' ')[0] ?? '');
      const shared = await cluster.docker([
        'exec',
        id,
        'sh',
        '-c',
        'find /var/lib/gantry /var/lib/gantry-volume -name "*.key"',
      ]);
      expect(shared).toBe('');
    }
    // A client's and a server's key of each.
    expect(keys.size).toBe(agents.length * 2);
  });

  test('leave no bound paths behind: they exist only while a container starts', async () => {
    await eventually('no bound path is left', PATIENCE_MS, async () => {
      return (await inAgent("grep -c '/binds/' /proc/self/mountinfo; true")) === '0';
    });
  });
});

describe('what a pod asks for', () => {
  const CONTROLS = '\u0001'.repeat(110_000);
  const times = <T>(count: number, each: (i: number) => T) => Array.from({ length: count }, (_, i) => each(i));
  const value = (name: string, text: string) => ({ name, value: text });
  /** Each asks for gigabytes, in less than 3 MiB. */
  const greedy: readonly Pod[] = [
    podOf('doubling', {
      containers: [
        shell('main', 'true', {
          env: [value('A0', 'xx'), ...times(25, (i) => value(`A${i + 1}`, `$(A${i})$(A${i})`))],
          args: times(10, () => '$(A25)'),
        }),
      ],
    }),
    podOf('arguments', {
      containers: [
        shell('main', 'true', { env: [value('A', 'x'.repeat(100_000))], args: times(3, () => '$(A)'.repeat(700)) }),
      ],
    }),
    {
      ...podOf('annotations', {
        volumes: [
          {
            name: 'scratch',
            downwardAPI: {
              items: times(7_000, (i) => ({ path: `${i}`, fieldRef: { fieldPath: 'metadata.annotations' } })),
            },
          },
        ],
        containers: [shell('main', 'true', { volumeMounts: [WHOLE] })],
      }),
      metadata: { name: 'annotations', annotations: { controls: CONTROLS } },
    },
    podOf('secrets', {
      volumes: [
        {
          name: 'scratch',
          projected: {
            sources: times(530, (i) => ({ secret: { name: 'large', items: [{ key: 'key', path: `${i}` }] } })),
          },
        },
      ],
      containers: [shell('main', 'true', { volumeMounts: [WHOLE] })],
    }),
  ];

  test('ends no agent and stops no other pod', async () => {
    await using namespace = await restricted();
    const started = async () => {
      const ids = (await cluster.containers('agent')).map(({ id }) => id);
      return await cluster.docker(['inspect', '-f', '{{.State.StartedAt}} {{.RestartCount}}', ...ids]);
    };
    const before = await started();
    await cluster.create(SECRETS, namespace.name, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'large' },
      data: { key: Buffer.alloc(1_000_000).toString('base64') },
    });
    for (const pod of greedy) await cluster.create(PODS, namespace.name, pod);
    for (const [name, message] of [
      ['doubling', 'variable A16 has 131076 bytes; a program gets at most 131071 in one'],
      ['arguments', 'args[0] has 70000000 bytes; a program gets at most 131071 in one'],
    ] as const) {
      expect(await untilWaiting(namespace.name, name)).toMatchObject({ reason: 'CreateContainerConfigError', message });
    }
    const events = (pod: string) =>
      cluster.mustKubectl(['get', 'events', '-n', namespace.name, `--field-selector=involvedObject.name=${pod}`]);
    for (const name of ['annotations', 'secrets']) {
      await eventually(`${name} was refused`, PATIENCE_MS, async () =>
        /FailedMount.*(the limit is 33554432|the node has no room for)/.test(await events(name)),
      );
    }
    const usual = podOf('usual', {
      volumes: [{ name: 'scratch', secret: { secretName: 'large' } }],
      containers: [shell('main', 'wc -c < /scratch/key', { volumeMounts: [WHOLE] })],
    });
    await cluster.create(PODS, namespace.name, usual);
    await untilEnded(namespace.name, 'usual');
    expect(await logs(namespace.name, 'usual')).toBe('1000000\n');
    expect(await started()).toBe(before);
  });

  test.each([
    ['a name that is no text', "cd /scratch; f=$(printf 'f\\377')"],
    ['more folders than stay open', 'cd /scratch; f=f; for i in $(seq 140); do mkdir d; cd d; done'],
  ])('is limited also for a file with %s', async (_what, script) => {
    await using namespace = await restricted();
    const pod = podOf('writer', {
      volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '10Mi' } }],
      containers: [
        shell('main', `${script}; dd if=/dev/zero of=$f bs=1M count=30; sleep 600`, { volumeMounts: [WHOLE] }),
      ],
    });
    await cluster.create(PODS, namespace.name, pod);
    const { status } = await untilEnded(namespace.name, 'writer');
    expect(status).toMatchObject({
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi". ',
    });
  });
});
