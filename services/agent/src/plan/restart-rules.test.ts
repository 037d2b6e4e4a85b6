import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { container, exited, NOW, pod, podState, running, sandbox } from '../testing/pods.ts';
import { nextAttempt, type ObservedPod } from './observed-pod.ts';
import { emptyMemory, type PodMemory } from './pod-memory.ts';
import { computePodActions } from './plan.ts';
import { MAX_RESTART_DELAY_MS, nextRestartDelayMs, restartAt } from './restart-delay.ts';

const MOUNTED: PodMemory = { ...emptyMemory, volumes: 'ready' };

const plan = (of: Pod, containers: readonly ContainerState[], memory = MOUNTED) =>
  computePodActions(of, podState([sandbox()], containers), memory, NOW).actions.map(({ kind }) => kind);

describe('restarts', () => {
  it('come after delays that double up to five minutes, and begin again after ten minutes of running', () => {
    const delays: number[] = [];
    let ended: ContainerState | undefined;
    for (let attempt = 0; attempt < 9; attempt++) {
      const restartDelayMs = nextRestartDelayMs(ended, MAX_RESTART_DELAY_MS);
      delays.push(restartDelayMs);
      ended = exited(1, { attempt, restartDelayMs, startedAt: NOW - 1000, finishedAt: NOW });
    }
    expect(delays).toEqual([0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
    const old = exited(1, { restartDelayMs: 300_000, startedAt: NOW - 600_000, finishedAt: NOW });
    expect(restartAt(old, MAX_RESTART_DELAY_MS)).toBe(NOW);
    expect(nextRestartDelayMs(old, MAX_RESTART_DELAY_MS)).toBe(10_000);
    const young = exited(1, { restartDelayMs: 300_000, startedAt: NOW - 599_999, finishedAt: NOW });
    expect(restartAt(young, MAX_RESTART_DELAY_MS)).toBe(NOW + 300_000);
    const shortened = exited(1, { restartDelayMs: 300_000, startedAt: NOW - 4_000, finishedAt: NOW });
    expect(restartAt(shortened, 2_000)).toBe(NOW);
    expect(restartAt(shortened, 2_001)).toBe(NOW + 2_001);
  });

  it('come at once after a restart of the machine, and not after the end of the sandbox', () => {
    const ended = {
      attempt: 3,
      restartDelayMs: 40_000,
      startedAt: NOW - 5_000,
      finishedAt: NOW - 1_000,
      sandboxId: 'old',
    };
    const starts = (age: Partial<ContainerState>) =>
      computePodActions(pod(), podState([sandbox()], [exited(137, { ...ended, ...age })]), MOUNTED, NOW).actions.map(
        (action) => (action.kind === 'startContainer' ? action.restartDelayMs : action.kind),
      );
    expect(starts({})).toEqual([]);
    expect(starts({ age: 'before-restart', restartDelayMs: 0 })).toEqual([0]);
  });

  it('begin their delays anew with another image', () => {
    const ended = exited(1, { restartDelayMs: 160_000, startedAt: NOW - 200_000, finishedAt: NOW - 170_000 });
    const delays = (object: Pod) =>
      computePodActions(object, podState([sandbox()], [ended]), MOUNTED, NOW).actions.map((action) =>
        action.kind === 'startContainer' ? action.restartDelayMs : action.kind,
      );
    expect(delays(pod())).toEqual([300_000]);
    expect(delays(pod({ containers: [container('main', { image: 'other:1' })] }))).toEqual([0]);
  });

  it.each(['Never', 'OnFailure'])(
    'leave a container that has done its work under %s, while another one runs',
    (policy) => {
      const two = pod({ restartPolicy: policy, containers: [container(), container('other')] });
      expect(plan(two, [exited(0), running({ name: 'other' })])).toEqual([]);
    },
  );

  it('do not count a container that was reported and never started', () => {
    const status = { name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0, containerID: 'docker://x' };
    const attempts = (state: ContainerStatus['state'], restartCount = 0) => {
      const reported = pod({}, { containerStatuses: [{ ...status, restartCount, state }] });
      return nextAttempt({ pod: reported, containers: [] } as unknown as ObservedPod, 'main');
    };
    expect(attempts({ waiting: { reason: 'ContainerCreating' } })).toBe(0);
    expect(attempts({ waiting: { reason: 'ContainerCreating' } }, 2)).toBe(2);
    expect(attempts({ running: {} })).toBe(1);
    expect(attempts({ terminated: { exitCode: 0 } })).toBe(1);
  });

  it('do not come from a probe of the container before', () => {
    const probed = (containerId: string) =>
      new Map([['main', { containerId, started: true, ready: false, failed: 'liveness' as const }]]);
    const again = running({ attempt: 1 });
    expect(plan(pod(), [again], { ...MOUNTED, probes: probed('main-1') })).toEqual(['stopContainer']);
    expect(plan(pod(), [again], { ...MOUNTED, probes: probed('main-0') })).toEqual([]);
  });
});
