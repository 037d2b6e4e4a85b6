import type { ContainerStatus, Pod, PodStatus } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { terminationCounter } from './termination-counter.ts';

const pod = (status?: PodStatus): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a' },
  ...(status === undefined ? {} : { status }),
});
const container = (name: string, state: ContainerStatus['state']) => ({ name, state }) as ContainerStatus;
const ended = (name: string, exitCode: number, reason: string) => container(name, { terminated: { exitCode, reason } });
const running = (name: string) => container(name, { running: {} });

async function counted(writes: readonly (readonly [Pod, Pod])[]): Promise<readonly string[]> {
  const metrics = createMetrics('part');
  const count = terminationCounter(metrics);
  for (const [before, after] of writes) count(before, after);
  return (await metrics.render()).text
    .split('\n')
    .filter((line) => line.startsWith('kubelet_terminated_containers_total{'));
}

it('counts a container that has terminated, also one that no status had named', async () => {
  const lines = await counted([
    [pod(), pod({ containerStatuses: [ended('one', 139, 'Error')] })],
    [
      pod({ containerStatuses: [running('two')] }),
      pod({ containerStatuses: [ended('one', 139, 'Error'), ended('two', 0, 'Completed')] }),
    ],
  ]);
  expect(lines).toEqual([
    'kubelet_terminated_containers_total{container_type="container",exit_code="139",reason="Error"} 2',
    'kubelet_terminated_containers_total{container_type="container",exit_code="0",reason="Completed"} 1',
  ]);
});

it('counts a termination once, and nothing that runs', async () => {
  const status = { containerStatuses: [ended('one', 1, 'Error'), running('two')] };
  expect(await counted([[pod(status), pod({ ...status, phase: 'Failed' })]])).toEqual([]);
});

it('tells init and ephemeral containers apart', async () => {
  const after = {
    initContainerStatuses: [ended('i', 0, 'Completed')],
    ephemeralContainerStatuses: [ended('e', 1, 'Error')],
  };
  expect(await counted([[pod({}), pod(after)]])).toEqual([
    'kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1',
    'kubelet_terminated_containers_total{container_type="ephemeral_container",exit_code="1",reason="Error"} 1',
  ]);
});
