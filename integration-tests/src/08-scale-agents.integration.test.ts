import { DEPLOYMENTS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const scaleAgents = (count: number) =>
  cluster.compose(['up', '-d', '--no-build', '--no-recreate', '--scale', `agent=${count}`]);

/** The volumes with the keys of the agents that run. */
async function keyVolumes(): Promise<ReadonlySet<string>> {
  const ids = (await cluster.containers('agent')).map(({ id }) => id);
  const format = '{{range .Mounts}}{{if eq .Destination "/var/lib/gantry-keys"}}{{.Name}}{{end}}{{end}}';
  return new Set((await cluster.docker(['inspect', '-f', format, ...ids])).split('\n'));
}

test('agents come and go: nodes join, pods spread, and nothing is left of those that went', async () => {
  await using namespace = await cluster.namespace();
  const before = (await cluster.nodes()).map(({ metadata }) => metadata.name);
  await scaleAgents(5);
  await cluster.untilNodesReady(5);
  await cluster.create(DEPLOYMENTS, namespace.name, nginxDeployment('web', 10));
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  const nodes = new Set((await cluster.pods(namespace.name)).map((pod) => pod.spec?.nodeName));
  expect(nodes.size).toBe(5);
  const keys = await keyVolumes();
  expect(keys.size).toBe(5);

  await scaleAgents(2);
  const gone = [...nodes].filter((node) => node !== undefined && !before.includes(node));
  await cluster.untilNodesReady(2, 300_000);
  await cluster.untilRolledOut(namespace.name, 'web', 300_000);
  await eventually('no container of the nodes that went is left', 180_000, async () => {
    const left = await Promise.all(gone.map((node) => cluster.podContainers([`label=gantry.node=${node}`], 'all')));
    return left.flat().length === 0;
  });
  expect((await cluster.nodes()).map(({ metadata }) => metadata.name).toSorted()).toEqual(before.toSorted());
  await eventually('no key of the agents that went is left', 60_000, async () => {
    const volumes = new Set((await cluster.docker(['volume', 'ls', '-q'])).split('\n'));
    const left = [...keys].filter((volume) => volumes.has(volume));
    return left.length === 2;
  });
});
