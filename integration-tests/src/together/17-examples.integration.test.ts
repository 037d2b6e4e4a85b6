import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@gantry/base/testing';
import { CONFIG_MAPS, type Deployment, DEPLOYMENTS, SERVICES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { writeAccountKubeconfig } from '../harness/account-kubeconfig.ts';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { echoDeployment, IngressClient } from '../harness/ingress-client.ts';
import { type Running, startProgram } from '../harness/process.ts';

const cluster = new Cluster();
const SOON_MS = 180_000;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-examples-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * Runs an example as a process, with the account and the rights of its manifest. That its image can be built is not tested. The objects
 * of its manifest are removed at the end.
 */
async function startExample(name: string): Promise<Running> {
  const at = join(cluster.root, 'examples', name);
  const text = await readFile(join(at, 'deploy', `${name}.yaml`), 'utf8');
  const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  const input = manifests
    .filter(({ kind }) => kind !== 'Deployment')
    .map((one) => stringify(one))
    .join('---\n');
  await cluster.mustKubectl(['apply', '-f', '-'], { input });
  const [file, config] = [join(folder, `${name}.kubeconfig`), join(folder, `${name}.yml`)];
  await writeAccountKubeconfig(cluster, { namespace: name, name }, file);
  await writeFile(config, manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['config.yml'] ?? '');
  const port = await freePort();
  const program = startProgram(process.execPath, ['--conditions=gantry-source', join(at, 'src/main.ts')], {
    KUBECONFIG: file,
    CONFIG: config,
    PORT: String(port),
  });
  await eventually(`${name} is ready`, SOON_MS, async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
  return {
    output: program.output,
    [Symbol.asyncDispose]: async () => {
      await program[Symbol.asyncDispose]();
      await cluster.kubectl(['delete', '-f', '-', '--wait=false', '--ignore-not-found'], { input });
    },
  };
}

/** What the example has logged as a warning or an error, such as a write that its rights do not allow. */
function faults({ output }: Running): readonly string[] {
  // The last line may not be whole yet.
  const lines = output().split('\n').slice(0, -1);
  return lines.filter((line) => (JSON.parse(line) as { readonly level: string }).level !== 'info');
}

function sleeper(name: string, replicas: number, annotations: Record<string, string> = {}): Deployment {
  const containers = [{ name: 'main', image: 'busybox:1.36', command: ['sleep', '100000'] }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, annotations },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 0, containers } },
    },
  };
}

test.concurrent('configmapcontroller rolls a Deployment when its ConfigMap changes', async () => {
  await using namespace = await cluster.namespace();
  await using example = await startExample('configmapcontroller');
  const { name } = namespace;
  const data = { level: 'info' };
  await cluster.create(CONFIG_MAPS, name, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data,
  });
  await cluster.create(DEPLOYMENTS, name, sleeper('web', 1, { 'configmap.fabric8.io/update-on-change': 'settings' }));
  const valueInPod = () =>
    cluster.mustKubectl(['exec', 'deploy/web', '-n', name, '--', 'sh', '-c', 'echo ${FABRIC8_SETTINGS_CONFIGMAP:?}']);
  const before = await eventually('a pod has the variable', SOON_MS, async () => {
    await cluster.untilRolledOut(name, 'web');
    return await valueInPod();
  });
  const merge = { data: { level: 'debug' } };
  const key = { namespace: name, name: 'settings' };
  await cluster.api.patch(CONFIG_MAPS, key, { merge }, AbortSignal.timeout(SOON_MS));
  await eventually('the pods have the new content', SOON_MS, async () => {
    await cluster.untilRolledOut(name, 'web');
    return (await valueInPod()) !== before;
  });
  expect(faults(example)).toEqual([]);
});

test.concurrent('exposecontroller makes a Service reachable by an Ingress, and writes its URL', async () => {
  await using namespace = await cluster.namespace();
  await using example = await startExample('exposecontroller');
  const client = new IngressClient(cluster);
  const { name } = namespace;
  const [proxy] = await cluster.containers('proxy');
  const image = await cluster.docker(['inspect', '-f', '{{.Config.Image}}', proxy?.id ?? '']);
  await cluster.create(DEPLOYMENTS, name, echoDeployment('web', image));
  await cluster.create(SERVICES, name, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', annotations: { 'fabric8.io/expose': 'true' } },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  const annotations = { 'expose.config.fabric8.io/url-key': 'url' };
  const metadata = { name: 'web', annotations };
  await cluster.create(CONFIG_MAPS, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  const url = async () => (await cluster.get(SERVICES, name, 'web')).metadata.annotations?.['fabric8.io/exposeUrl'];
  const host = `web.${name}.localhost`;
  expect(await eventually('the Service has its URL', SOON_MS, url)).toBe(`http://${host}`);
  await eventually('the ConfigMap has the URL', SOON_MS, async () => {
    return (await cluster.get(CONFIG_MAPS, name, 'web')).data?.['url'] === `http://${host}`;
  });
  await eventually('the Service answers', SOON_MS, async () => (await client.ask(host, '/')).status === 200);
  await cluster.mustKubectl(['annotate', 'service', 'web', 'fabric8.io/expose-', '-n', name]);
  await eventually('the Service answers no more', SOON_MS, async () => (await client.ask(host, '/')).status === 404);
  await eventually('the URL is removed', SOON_MS, async () => (await url()) === undefined);
  expect(faults(example)).toEqual([]);
});

test.concurrent('queue-autoscaler scales a Deployment by a list in Redis, and down to zero', async () => {
  await using namespace = await cluster.namespace();
  await cluster.mustKubectl(['apply', '-f', join(cluster.root, 'examples/queue-autoscaler/deploy/definition.json')]);
  const definition = 'crd/queuescalers.queue.example.com';
  await cluster.mustKubectl(['wait', '--for=condition=Established', definition, '--timeout=120s']);
  await using example = await startExample('queue-autoscaler');
  let length = 11;
  const redis = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(`:${length}\r\n`));
  });
  await new Promise<void>((resolve) => redis.listen(0, '127.0.0.1', resolve));
  try {
    const { name } = namespace;
    await cluster.create(DEPLOYMENTS, name, sleeper('worker', 0));
    const scaler = {
      apiVersion: 'queue.example.com/v1',
      kind: 'QueueScaler',
      metadata: { name: 'jobs', namespace: name },
      spec: {
        scaleTargetRef: { name: 'worker' },
        address: `127.0.0.1:${(redis.address() as AddressInfo).port}`,
        listName: 'jobs',
        pollingInterval: 1,
        cooldownPeriod: 2,
      },
    };
    await cluster.mustKubectl(['apply', '-f', '-'], { input: JSON.stringify(scaler) });
    const running = async () => (await cluster.get(DEPLOYMENTS, name, 'worker')).status?.availableReplicas ?? 0;
    await eventually('three replicas run', SOON_MS, async () => (await running()) === 3);
    length = 0;
    await eventually('no pod is left', SOON_MS, async () => (await cluster.pods(name)).length === 0);
    const condition = ['wait', '--for=condition=Ready', 'queuescaler/jobs', '-n', name, '--timeout=120s'];
    await cluster.mustKubectl(condition);
    expect(faults(example)).toEqual([]);
  } finally {
    redis.close();
    await cluster.kubectl(['delete', 'crd', 'queuescalers.queue.example.com', '--wait=false']);
  }
});
