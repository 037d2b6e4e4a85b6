import { buildImage } from '@gantry/base/testing';
import { type Deployment, DEPLOYMENTS, type Node, type Pod } from '@gantry/objects';
import { expect, test } from 'vitest';
import { startClientTraffic } from './harness/client-traffic.ts';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { mustUpWith, previousImage, upWith } from './harness/releases.ts';

const cluster = new Cluster();
const REPLACED = ['apiserver', 'scheduler', 'controller-manager', 'dns', 'proxy', 'ingress', 'pod-egress', 'agent'];

/** What agents must leave as it is when they are replaced. */
interface Kept {
  readonly name: string;
  readonly containers: readonly string[];
  /** The last time that its readiness changed while its node was Ready all the time. */
  readonly readySince: string | undefined;
}

const readySince = ({ status }: Pod | Node) =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;

/** A machine may be so busy that an agent is away for longer than a node's grace period: its pods are then not Ready for a moment. */
async function kept(namespace: string, before: readonly Kept[] = []): Promise<readonly Kept[]> {
  const nodes = new Map((await cluster.nodes()).map((node) => [node.metadata.name, readySince(node)]));
  const pods = await cluster.pods(namespace, 'app=web');
  return pods.map((pod): Kept => {
    const name = pod.metadata.name ?? '';
    const known = before.find((one) => one.name === name)?.readySince;
    const since = readySince(pod);
    const wasNodeLost = known !== undefined && (nodes.get(pod.spec?.nodeName ?? '') ?? '') > known;
    return {
      name,
      containers: (pod.status?.containerStatuses ?? []).map((one) => `${one.containerID} ${one.restartCount}`),
      readySince: wasNodeLost ? known : since,
    };
  });
}

/** Its pods are not evicted where a machine is so busy that an agent is away for long. */
function keptDeployment(): Deployment {
  const { spec, ...deployment } = nginxDeployment('web', 4);
  const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }];
  const template = { ...spec?.template, spec: { ...spec?.template?.spec, tolerations } };
  return { ...deployment, spec: { ...spec, template } } as Deployment;
}

const services = async () => (await cluster.containers()).filter(({ service }) => service !== 'pki');

async function imagesOf(service: string): Promise<readonly string[]> {
  const ids = (await cluster.containers(service)).map(({ id }) => id);
  return [...new Set((await cluster.docker(['inspect', '-f', '{{.Config.Image}}', ...ids])).split('\n'))];
}

/** An image of the services without the program of the API server. */
async function brokenImage(): Promise<AsyncDisposable & { readonly image: string }> {
  const image = `gantry-broken:${cluster.clusterId}`;
  await buildImage(image, `FROM ${await cluster.serviceImage()}\nRUN rm lib/apiserver.mjs\n`, 'classic');
  return { image, [Symbol.asyncDispose]: async () => void (await cluster.docker(['image', 'rm', '-f', image])) };
}

/** Lets pods come and go until the work is done. */
async function changePodsDuring(namespace: string, name: string, work: Promise<void>): Promise<void> {
  let state: 'running' | 'done' = 'running';
  const settled = work.finally(() => {
    state = 'done';
  });
  for (let round = 0; round === 0 || state === 'running'; round++) {
    await cluster.create(DEPLOYMENTS, namespace, nginxDeployment(`${name}-${round}`, 1));
    await cluster.untilRolledOut(namespace, `${name}-${round}`);
    await cluster.mustKubectl(['delete', 'deployment', `${name}-${round}`, '-n', namespace]);
  }
  await settled;
}

test('up replaces all services by those of another release and back: no request fails, and pods stay as they are', async () => {
  const previous = await previousImage(cluster);
  await using namespace = await cluster.namespace();
  await using traffic = await startClientTraffic(cluster, namespace.name);
  await cluster.create(DEPLOYMENTS, namespace.name, keptDeployment());
  await cluster.untilRolledOut(namespace.name, 'web');
  const before = await kept(namespace.name);
  const first = await services();

  // A release whose API server ends at once: nothing is replaced.
  {
    await using broken = await brokenImage();
    const { code, stdout, stderr } = await upWith(cluster, broken.image);
    expect(code, stdout).not.toBe(0);
    expect(stderr).toMatch(
      new RegExp(`${cluster.clusterId}-apiserver-1 ends at each start\\. .*lib/apiserver.mjs`, 's'),
    );
    expect(stderr).toContain('those that are not replaced yet are as before');
    expect(await services()).toEqual(first);
  }

  // While some services are of one release and some of the other, pods come and go.
  await changePodsDuring(namespace.name, 'before', mustUpWith(cluster, previous));
  for (const service of REPLACED) expect(await imagesOf(service), service).toEqual([previous]);
  expect(await kept(namespace.name, before)).toEqual(before);

  await changePodsDuring(namespace.name, 'after', mustUpWith(cluster));
  for (const service of REPLACED) expect(await imagesOf(service), service).toEqual([expect.stringMatching(/^gantry:/)]);
  expect(await kept(namespace.name, before)).toEqual(before);
  expect((await services()).map(({ name }) => name)).toEqual(first.map(({ name }) => name));

  const report = await traffic.end();
  expect(report).toMatchObject({ failures: [], missed: [] });
  expect(report.requests).toBeGreaterThan(500);
});
