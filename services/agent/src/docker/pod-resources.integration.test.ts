/** Tests a pod with pod-level resources from its object to the kernel: an agent's workers on an engine. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isFinalPhase, PODS, type Pod, type ResourceRequirements } from '@gantry/objects';
import { expect, it } from 'vitest';
import { isThere } from '../files/if-there.ts';
import { BUSYBOX, PAUSE, runsAfter, scriptPod, startEngineNode } from './testing/engine-node.ts';
import { OwnEngine } from './testing/own-engine.ts';

const FOREVER = 'trap "exit 0" TERM; while true; do sleep 0.1; done';
const GROUPS = '/sys/fs/cgroup';
const MIB = 2 ** 20;

const whole = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

/** Returns a group's memory limit in bytes, in either version of control groups. */
async function memoryOf(group: string): Promise<number> {
  const legacy = join(GROUPS, 'memory', group, 'memory.limit_in_bytes');
  return Number(await readFile((await isThere(legacy)) ? legacy : join(GROUPS, group, 'memory.max'), 'utf8'));
}

it('is held to it by the kernel, is resized in place, and leaves no control group', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128 });
  await engine.load(BUSYBOX, PAUSE);
  await using node = await startEngineNode(engine);
  await node.put(scriptPod('web', FOREVER, { resources: whole('500m', '64Mi') }));
  await node.put(scriptPod('plain', FOREVER));
  if (node.services.engine.podGroups !== 'supported') {
    const { status } = await node.until('web', (pod) => isFinalPhase(pod.status?.phase));
    expect(status?.reason).toBe('PodLevelResourcesNotSupported');
    return;
  }
  const parentsOf = async (name: string) => {
    const ids = await engine.docker('ps', '-aq', '--filter', `label=io.kubernetes.pod.name=${name}`);
    const parents = await engine.docker('inspect', '-f', '{{.HostConfig.CgroupParent}}', ...ids.split('\n'));
    return new Set(parents.split('\n'));
  };
  const started = await node.until('web', runsAfter(0));
  const plain = await node.until('plain', runsAfter(0));
  expect(plain.status?.resources).toEqual({});
  expect(plain.status).not.toHaveProperty('allocatedResources');
  expect([...(await parentsOf('plain'))]).toEqual(['']);
  const [group = '', ...others] = await parentsOf('web');
  expect(others).toEqual([]);
  expect(group).toMatch(new RegExp(`^/docker/own-engine-[0-9a-f]{12}-pod${started.metadata.uid}$`));
  expect(await memoryOf(group)).toBe(64 * MIB);

  const before = await node.containers('web');
  for (const mebibytes of [128, 32]) {
    const { spec = { containers: [] }, ...pod } = node.find('web') ?? started;
    const resources = whole('250m', `${mebibytes}Mi`);
    await node.client.update(PODS, { ...pod, spec: { ...spec, resources } }, node.stop.signal);
    const isResized = ({ status }: Pod) =>
      status?.resources?.limits?.['memory'] === `${mebibytes}Mi` &&
      !status.conditions?.some(({ type }) => type.startsWith('PodResize'));
    await node.until('web', isResized);
    expect(await memoryOf(group)).toBe(mebibytes * MIB);
    expect(await node.containers('web')).toEqual(before);
  }

  const key = { namespace: started.metadata.namespace ?? '', name: 'web' };
  await node.client.delete(PODS, key, { gracePeriodSeconds: 0 }, node.stop.signal);
  await expect.poll(() => node.runtime.podGroups.listPodGroups(node.owner)).toEqual([]);
});
