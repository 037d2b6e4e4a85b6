import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Pod, PODS, type Service, SERVICES } from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import type { KubectlVersion } from './harness/kubectl-versions.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const FILE_BYTES = 20 * 1024 * 1024;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let folder: string;

/** A web server, and a container beside it. */
const BOX: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'box', labels: { app: 'box' } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'web',
        image: IMAGE,
        command: [
          'sh',
          '-c',
          'mkdir -p /www && echo hello from box > /www/index.html && exec httpd -f -p 8080 -h /www',
        ],
        ports: [{ name: 'http', containerPort: 8080 }],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      },
      { name: 'other', image: IMAGE, command: ['sleep', '3600'] },
    ],
  },
};

const SERVICE: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'box' },
  spec: { selector: { app: 'box' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
};

beforeAll(async () => {
  namespace = await cluster.namespace();
  folder = await mkdtemp(join(tmpdir(), 'gantry-streams-'));
  await cluster.create(PODS, namespace.name, BOX);
  await cluster.create(SERVICES, namespace.name, SERVICE);
  await eventually('the pod is ready', 120_000, async () => isReady(await cluster.get(PODS, namespace.name, 'box')));
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const [oldest = cluster.newest] = cluster.kubectls;

/** Every protocol: SPDY of the oldest, WebSockets of the newest and what it falls back to. */
const CLIENTS: readonly {
  readonly client: string;
  readonly version: KubectlVersion;
  readonly env: Readonly<Record<string, string>>;
}[] = [
  { client: 'the oldest kubectl', version: oldest, env: {} },
  { client: 'the newest kubectl', version: cluster.newest, env: {} },
  {
    client: 'the newest kubectl without WebSockets',
    version: cluster.newest,
    env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
  },
];

describe.each(CLIENTS)('$client', ({ version, env }) => {
  const kubectl = (args: readonly string[], input?: string) =>
    cluster.kubectl(['-n', namespace.name, ...args], { version, env, ...(input === undefined ? {} : { input }) });
  const exec = (script: string, input?: string) =>
    kubectl(['exec', ...(input === undefined ? [] : ['-i']), 'box', '-c', 'web', '--', 'sh', '-c', script], input);

  test('exec gives both outputs, the exit code, and ends the input', async () => {
    expect(await exec('echo out; echo err >&2; exit 3')).toMatchObject({
      code: 3,
      stdout: 'out\n',
      stderr: expect.stringMatching(/^err\n.*exit code 3/s),
    });
    // wc ends only when its input does, and what it says still arrives.
    expect(await exec('wc -c; echo end', 'x'.repeat(100_000))).toMatchObject({ code: 0, stdout: '100000\nend\n' });
    // A process that does not read its input.
    expect(await exec('exit 5', 'x'.repeat(1_000_000))).toMatchObject({ code: 5 });
  });

  test('exec says what is wrong', async () => {
    const failed = async (...args: string[]) => {
      const { code, stderr } = await kubectl(['exec', ...args]);
      expect(code).not.toBe(0);
      return stderr;
    };
    expect(await failed('none', '--', 'true')).toContain('pods "none" not found');
    expect(await failed('box', '-c', 'none', '--', 'true')).toContain('container none is not valid for pod box');
    expect(await failed('box', '-c', 'web', '--', '/no/such/program')).toMatch(/no such file|not found|126|127/);
  });

  /** kubectl in a terminal of 33 lines with 77 columns. */
  const inTerminal = async (args: string) =>
    await runProgram(
      'script',
      ['-qec', `stty rows 33 cols 77; ${version.program} -n ${namespace.name} ${args}`, '/dev/null'],
      {
        env: { ...env, KUBECONFIG: cluster.kubeconfig, SHELL: '/bin/sh' },
        timeoutMs: 300_000,
      },
    );
  const inPod = 'until [ "$(stty size)" = "33 77" ]; do :; done; test -t 0 && echo size is right';
  const number = CLIENTS.findIndex((one) => one.env === env && one.version === version);

  test('exec with a terminal follows the size of the client', async () => {
    const { code, stdout } = await inTerminal(`exec -it box -c web -- sh -c '${inPod}'`);
    expect(stdout).toContain('size is right\r\n');
    expect(code).toBe(0);
  });

  test('attach with a terminal follows the size of the client', async () => {
    const run = `run terminal-${number} -it --rm --restart=Never --image=${IMAGE} --pod-running-timeout=2m`;
    const { code, stdout } = await inTerminal(`${run} -- sh -c '${inPod}'`);
    expect(stdout).toContain('size is right\r\n');
    expect(code).toBe(0);
  });

  test('logs, debug, top and proxy show the pod', async () => {
    await kubectl(['exec', 'box', '-c', 'other', '--', 'sh', '-c', `echo line ${number} > /proc/1/fd/1`]);
    const logged = async (container: string) => (await kubectl(['logs', 'box', '-c', container])).stdout;
    await eventually('the line is in the log', 120_000, async () =>
      (await logged('other')).includes(`line ${number}\n`),
    );
    const look = ['-c', `debug-${number}`, '--', 'cat', '/proc/1/cmdline'];
    const debugged = await kubectl(['debug', 'box', `--image=${IMAGE}`, '--target=web', ...look]);
    expect(debugged.code, debugged.stderr).toBe(0);
    await eventually('the ephemeral container sees the server', 120_000, async () =>
      (await logged(`debug-${number}`)).includes('httpd'),
    );
    await eventually('top has numbers', 120_000, async () => {
      const { code, stdout } = await kubectl(['top', 'pod', 'box', '--containers', '--no-headers']);
      return code === 0 && /^box +web +\d+m +\d+Mi/m.test(stdout);
    });
    await using proxy = cluster.startKubectl(['proxy', '--port=0'], version, env);
    const address = await eventually('proxy serves', 120_000, () => /127\.0\.0\.1:\d+/.exec(proxy.output())?.[0]);
    const response = await fetch(`http://${address}/api/v1/namespaces/${namespace.name}/pods/box`);
    expect(await response.json()).toMatchObject({ kind: 'Pod', metadata: { name: 'box' } });
  });

  test('attach carries input and output of the first process, to its end', async () => {
    const name = `attached-${number}`;
    const script = 'while read -r line; do echo got $line; done';
    const pod = ['run', name, '-i', '--rm', '--restart=Never', `--image=${IMAGE}`, '--pod-running-timeout=2m'];
    const args = [...pod, '--', 'sh', '-c', script];
    const { code, stdout, stderr } = await kubectl(args, 'one\ntwo\n');
    expect(stdout, stderr).toContain('got one\ngot two\n');
    expect(code).toBe(0);
  });

  test('cp brings a file there and back unchanged', async () => {
    const bytes = randomBytes(FILE_BYTES);
    await writeFile(join(folder, 'there'), bytes);
    expect(await kubectl(['cp', join(folder, 'there'), 'box:/tmp/copy', '-c', 'web'])).toMatchObject({ code: 0 });
    expect((await exec('sha256sum /tmp/copy')).stdout).toContain(sha256(bytes));
    expect(await kubectl(['cp', 'box:/tmp/copy', join(folder, 'back'), '-c', 'web'])).toMatchObject({ code: 0 });
    expect(sha256(await readFile(join(folder, 'back')))).toBe(sha256(bytes));
  });

  test('port-forward serves many connections, to a pod and to a Service', async () => {
    for (const target of ['pod/box', 'service/box']) {
      const ports = target === 'pod/box' ? ':8080' : ':80';
      await using forward = cluster.startKubectl(['-n', namespace.name, 'port-forward', target, ports], version, env);
      const port = await eventually(`${target} is forwarded`, 120_000, () => {
        return /127\.0\.0\.1:(\d+)/.exec(forward.output())?.[1];
      });
      const url = `http://127.0.0.1:${port}/`;
      const texts = Array.from({ length: 12 }, async () =>
        (await fetch(url, { headers: { connection: 'close' } })).text(),
      );
      expect(new Set(await Promise.all(texts))).toEqual(new Set(['hello from box\n']));
    }
  });
});

test('a process ends with the client that ran it', async () => {
  const processes = () => cluster.mustKubectl(['-n', namespace.name, 'exec', 'box', '-c', 'other', '--', 'ps']);
  {
    const args = ['-n', namespace.name, 'exec', 'box', '-c', 'other', '--', 'sh', '-c', 'sleep 4711 & wait'];
    await using client = cluster.startKubectl(args);
    await eventually('it runs', 120_000, async () => (await processes()).includes('sleep 4711'));
    expect(client.output()).toBe('');
  }
  await eventually('it has been killed', 120_000, async () => !(await processes()).includes('sleep 4711'));
});

test('the proxies lead to the pod and the Service', async () => {
  const raw = (path: string) => cluster.mustKubectl(['get', '--raw', path]);
  const root = `/api/v1/namespaces/${namespace.name}`;
  expect(await raw(`${root}/pods/box:8080/proxy/index.html`)).toBe('hello from box\n');
  expect(await raw(`${root}/pods/http:box:8080/proxy/`)).toBe('hello from box\n');
  const { spec } = await cluster.get(PODS, namespace.name, 'box');
  expect(await raw(`/api/v1/nodes/${spec?.nodeName ?? ''}/proxy/healthz`)).toBe('ok');
  for (const port of ['http', '80']) {
    const served = () => raw(`${root}/services/box:${port}/proxy/`);
    expect(await eventually('the endpoint is known', 120_000, served)).toBe('hello from box\n');
  }
});

test('logs are shown in part, of one run or the one before, of several containers, and followed to their end', async () => {
  const shell = (name: string, script: string) => ({ name, image: IMAGE, command: ['sh', '-c', script] });
  const first = 'echo before; exit 1';
  const second =
    'for line in one two three; do echo $line; sleep 1; done; until test -f /tmp/go; do sleep 0.1; done; echo last';
  const logger: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'logger',
      labels: { app: 'logger' },
      annotations: { 'gantry.dev/max-restart-delay-seconds': '1' },
    },
    spec: {
      restartPolicy: 'OnFailure',
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: 'state', emptyDir: {} }],
      containers: [
        {
          ...shell('main', `if test -f /state/again; then ${second}; else touch /state/again; ${first}; fi`),
          volumeMounts: [{ name: 'state', mountPath: '/state' }],
        },
        shell('other', 'echo of other; echo and more >&2'),
      ],
    },
  };
  await cluster.create(PODS, namespace.name, logger);
  const logs = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, 'logs', ...args]);
  const main = (...args: string[]) => logs('logger', '-c', 'main', ...args);
  await eventually('the second run has written', 120_000, async () => (await main()) === 'one\ntwo\nthree\n');
  expect(await main('--previous')).toBe('before\n');
  expect(await main('--tail=2')).toBe('two\nthree\n');
  expect(await main('--limit-bytes=5')).toBe('one\nt');
  const stamped = (await main('--timestamps')).trim().split('\n');
  expect(stamped.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z /, ''))).toEqual([
    'one',
    'two',
    'three',
  ]);
  const [, , third = ''] = stamped.map((line) => line.split(' ')[0] ?? '');
  const second0 = new Date(Math.floor(Date.parse(third) / 1000) * 1000).toISOString();
  expect(await main(`--since-time=${second0}`)).toMatch(/^(two\n)?three\n$/);
  await eventually('the other container has written, too', 120_000, async () => {
    const all = await logs('--selector=app=logger', '--all-containers', '--prefix');
    expect(all.trim().split('\n').toSorted()).toEqual(
      ['main] one', 'main] three', 'main] two', 'other] and more', 'other] of other'].map(
        (line) => `[pod/logger/${line}`,
      ),
    );
    return true;
  });
  await using following = cluster.startKubectl([
    '-n',
    namespace.name,
    'logs',
    '-f',
    'logger',
    '-c',
    'main',
    '--tail=1',
  ]);
  await eventually('it follows', 120_000, () => following.output() === 'three\n');
  await cluster.mustKubectl(['-n', namespace.name, 'exec', 'logger', '-c', 'main', '--', 'touch', '/tmp/go']);
  await eventually('it has followed to the end', 120_000, () => following.output() === 'three\nlast\n');
});

test.each(['v4.channel.k8s.io', 'v5.channel.k8s.io'])('a client of WebSockets speaks %s', async (protocol) => {
  await using proxy = cluster.startKubectl(['proxy', '--port=0', '--reject-paths=^$']);
  const address = await eventually('proxy serves', 120_000, () => /127\.0\.0\.1:\d+/.exec(proxy.output())?.[0]);
  const query = new URLSearchParams({ container: 'web', stdin: 'true', stdout: 'true', stderr: 'true' });
  for (const part of ['sh', '-c', 'read line; echo got $line; echo err >&2; exit 4']) query.append('command', part);
  const path = `/api/v1/namespaces/${namespace.name}/pods/box/exec?${query.toString()}`;
  const socket = new WebSocket(`ws://${address}${path}`, protocol);
  socket.binaryType = 'arraybuffer';
  /** Text by the number of its channel. */
  const received = new Map<number, string>();
  socket.addEventListener('message', ({ data }) => {
    const [channel = 0, ...bytes] = new Uint8Array(data as ArrayBuffer);
    received.set(channel, `${received.get(channel) ?? ''}${Buffer.from(bytes).toString()}`);
  });
  const closed = Promise.withResolvers<void>();
  socket.addEventListener('close', () => closed.resolve());
  socket.addEventListener('error', () => closed.reject(new Error('the connection failed')));
  socket.addEventListener('open', () => socket.send(Buffer.from('\0line\n')));
  await closed.promise;
  expect(socket.protocol).toBe(protocol);
  expect(received.get(1)).toBe('got line\n');
  expect(received.get(2)).toBe('err\n');
  expect(JSON.parse(received.get(3) ?? '')).toMatchObject({
    status: 'Failure',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: '4' }] },
  });
});

test('the previous log of a container that waits for its restart is of the run that its status shows', async () => {
  // The third run waits, so that the second one is the last to end, however late it is asked for.
  const script =
    'echo >> /state/runs; run=$(wc -l < /state/runs); echo run $run; [ $run -lt 3 ] || sleep 3600; exit $run';
  const spec: Pod['spec'] = {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 0,
    volumes: [{ name: 'state', emptyDir: {} }],
    containers: [
      {
        name: 'main',
        image: IMAGE,
        command: ['sh', '-c', script],
        volumeMounts: [{ name: 'state', mountPath: '/state' }],
      },
    ],
  };
  await cluster.create(PODS, namespace.name, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'crashing' }, spec });
  const waiting = await eventually('it waits after its second run', 120_000, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'crashing');
    const status = pod.status?.containerStatuses?.[0];
    return status?.state?.waiting?.reason === 'CrashLoopBackOff' && status.restartCount === 1 ? pod : undefined;
  });
  expect(waiting.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(2);
  expect(await cluster.mustKubectl(['-n', namespace.name, 'logs', 'crashing', '--previous'])).toBe('run 2\n');
  const path = `/api/v1/nodes/${waiting.spec?.nodeName ?? ''}/proxy/containerLogs/${namespace.name}/crashing/main`;
  expect(await cluster.mustKubectl(['get', '--raw', `${path}?previous=true`])).toBe('run 2\n');
});

test('a log is followed through its rotation, line by line', { timeout: 900_000 }, async () => {
  const turns = 6;
  const linesOfTurn = 40_000;
  // 60 bytes of text each: a turn fills half of the file that the engine writes before it begins the next one. The next turn waits until
  // this one was read, since engine 20.10 loses its place in a log of which more than a file is written meanwhile.
  const write = `awk -v from=$((turn * ${linesOfTurn})) 'BEGIN { for (i = 1; i <= ${linesOfTurn}; i++) printf "%059d\\n", from + i }'`;
  const script = `turn=0; while test $turn -lt ${turns}; do until test -f /tmp/turn-$turn; do sleep 0.1; done; ${write}; turn=$((turn + 1)); done; sleep 3600`;
  await cluster.create(PODS, namespace.name, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'rotated' },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: IMAGE, command: ['sh', '-c', script] }],
    },
  });
  await eventually('it runs', 120_000, async () => isReady(await cluster.get(PODS, namespace.name, 'rotated')));
  await using following = cluster.startKubectl(['-n', namespace.name, 'logs', '-f', 'rotated']);
  for (let turn = 0; turn < turns; turn++) {
    await cluster.mustKubectl(['-n', namespace.name, 'exec', 'rotated', '--', 'touch', `/tmp/turn-${turn}`]);
    const bytes = (turn + 1) * linesOfTurn * 60;
    await eventually(`turn ${turn} was read`, 120_000, () => following.output().length >= bytes);
  }
  const lines = following.output().trim().split('\n').map(Number);
  expect(lines.length).toBe(turns * linesOfTurn);
  expect(lines.findIndex((line, index) => line !== index + 1)).toBe(-1);
});

test('tools find the endpoints of a kubelet through the proxy of a node, and kubectl top has numbers', async () => {
  const { spec, metadata } = await cluster.get(PODS, namespace.name, 'box');
  const node = spec?.nodeName ?? '';
  const raw = (path: string) => cluster.mustKubectl(['get', '--raw', `/api/v1/nodes/${node}/proxy/${path}`]);
  const { items } = JSON.parse(await raw('pods')) as { items: readonly Pod[] };
  expect(items.map((pod) => pod.metadata.uid)).toContain(metadata.uid);
  expect(JSON.parse(await raw('configz'))).toHaveProperty('kubeletconfig.maxPods', 110);
  expect(await raw('metrics')).toMatch(/^gantry_engine_request_seconds_count\{/m);
  const sample = `container="web",namespace="${namespace.name}",pod="box"`;
  await eventually('usage was measured', 120_000, async () => {
    const [resource, cadvisor, summary] = await Promise.all(
      ['metrics/resource', 'metrics/cadvisor', 'stats/summary'].map(raw),
    );
    expect(resource).toMatch(new RegExp(`^container_memory_working_set_bytes\\{${sample}\\} \\d+`, 'm'));
    expect(cadvisor).toMatch(/^container_cpu_usage_seconds_total\{.*pod="box".*\} \d/m);
    const { pods } = JSON.parse(summary ?? '') as { pods: readonly { podRef: { uid: string }; memory?: object }[] };
    const box = pods.find(({ podRef }) => podRef.uid === metadata.uid);
    expect(box).toHaveProperty('memory.workingSetBytes');
    expect(box).toMatchObject({ network: { name: 'eth0' }, memory: { pageFaults: expect.any(Number) } });
    expect(cadvisor).toMatch(/^container_memory_rss\{.*pod="box".*\} \d/m);
    expect(cadvisor).toMatch(/^container_network_receive_bytes_total\{.*interface="eth0".*pod="box"\} [1-9]/m);
    return true;
  });
  const { node: shown } = JSON.parse(await raw('stats/summary')) as { node: object };
  expect(shown).toMatchObject({
    fs: { capacityBytes: expect.any(Number), inodes: expect.any(Number) },
    network: { interfaces: expect.arrayContaining([expect.objectContaining({ rxBytes: expect.any(Number) })]) },
  });
  expect(await raw(`containerLogs/${namespace.name}/box/web`)).toBe('');
  expect(await raw('logs/')).toContain('pods');
  await cluster.mustKubectl([
    'exec',
    '-n',
    namespace.name,
    'box',
    '-c',
    'other',
    '--',
    'sh',
    '-c',
    'echo a line of its log > /proc/1/fd/1',
  ]);
  const logs = `logs/pods/${namespace.name}_box_${metadata.uid}/other`;
  await eventually('the log has the line', 120_000, async () =>
    /^\d{4}-\d\d-\d\dT\S+Z a line of its log$/m.test(await raw(`${logs}/0.log`)),
  );
  expect(await raw(`${logs}/`)).toContain('<a href="0.log">0.log</a>');
  await eventually('the metrics API has numbers', 120_000, async () => {
    const { code, stdout } = await cluster.kubectl([
      'top',
      'pod',
      '-n',
      namespace.name,
      'box',
      '--containers',
      '--no-headers',
    ]);
    return code === 0 && /^box +other +\d+m +\d+Mi/m.test(stdout);
  });
  // Another API server may have read them a moment earlier.
  await eventually('those of the node, too', 120_000, async () =>
    (await cluster.mustKubectl(['top', 'node', '--no-headers'])).includes(node),
  );
});

/** The most memory that the processes of the API servers and agents have had, in KiB. */
async function peaks(): Promise<readonly number[]> {
  const services = [...(await cluster.containers('apiserver')), ...(await cluster.containers('agent'))];
  return await Promise.all(
    services.map(async ({ id }) => {
      const status = await cluster.docker(['exec', id, 'cat', '/proc/1/status']);
      return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
    }),
  );
}

test('200 MB pass in each direction, with little memory', { timeout: 900_000 }, async () => {
  const bytes = 200_000_000;
  const before = await peaks();
  const box = ['-n', namespace.name, 'exec', '-i', 'box', '-c', 'web', '--'];
  const pipe = (script: string) =>
    runProgram('sh', ['-c', script, 'sh', cluster.newest.program, ...box], {
      env: { KUBECONFIG: cluster.kubeconfig },
      timeoutMs: 400_000,
    });
  expect((await pipe(`"$@" sh -c 'head -c ${bytes} /dev/zero' | wc -c`)).stdout.trim()).toBe(String(bytes));
  expect((await pipe(`head -c ${bytes} /dev/zero | "$@" sh -c 'wc -c'`)).stdout.trim()).toBe(String(bytes));
  const after = await peaks();
  const grown = after.map((peak, index) => peak - (before[index] ?? 0));
  expect(Math.max(...grown)).toBeLessThan(150 * 1024);
});
