/**
 * Removes what tests have started beside the cluster and an interrupted run has left: before the tests and after them.
 * testcontainers' own reaper does that too where its image can be had; a machine without a registry has this alone.
 */
import { CONTAINER_LABELS, REAPER_IMAGE } from '@gantry/etcd/testing';
import { type ContainerRuntimeClient, getContainerRuntimeClient, ImageName } from 'testcontainers';

/** An image that says by a label whether it came from a registry. */
const WITNESS = 'busybox:latest';

export async function setup(): Promise<() => Promise<void>> {
  const runtime = await getContainerRuntimeClient();
  await sweep(runtime);
  await pullReaper(runtime);
  return () => sweep(runtime);
}

/** Removes the containers and networks that tests have started beside the cluster. */
export async function sweepContainers(): Promise<void> {
  await sweep(await getContainerRuntimeClient());
}

async function sweep({ container }: ContainerRuntimeClient): Promise<void> {
  const { dockerode } = container;
  const label = Object.entries(CONTAINER_LABELS).map(([name, value]) => `${name}=${value}`);
  const left = await dockerode.listContainers({ all: true, filters: { label } });
  const networks = new Set(left.flatMap(({ NetworkSettings }) => Object.keys(NetworkSettings.Networks)));
  await Promise.all(left.map(({ Id }) => dockerode.getContainer(Id).remove({ force: true, v: true })));
  const owned = await dockerode.listNetworks({ filters: { label: ['org.testcontainers=true'] } });
  await Promise.all(owned.filter(({ Name }) => networks.has(Name)).map(({ Id }) => dockerode.getNetwork(Id).remove()));
  if (left.length > 0)
    process.stdout.write(`removed ${left.length} containers that an earlier run of the tests left\n`);
}

/** Pulled only where images came from a registry: elsewhere each try would wait for an answer that never comes. */
async function pullReaper({ image, container }: ContainerRuntimeClient): Promise<void> {
  const reaper = ImageName.fromString(REAPER_IMAGE);
  if (await image.exists(reaper)) return;
  const { Config } = await container.dockerode.getImage(WITNESS).inspect();
  if (Config.Labels?.['gantry.stand-in'] === undefined) await image.pull(reaper);
}
