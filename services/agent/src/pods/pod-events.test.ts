import { beforeEach, describe, expect, it } from 'vitest';
import type { PodPlan } from '../plan/pod-plan.ts';
import { AgentError } from '../runtime/agent-error.ts';
import { container, exited, pod, podState, sandbox } from '../testing/pods.ts';
import { PodEvents } from './pod-events.ts';
import { createWorkerMemory } from './worker-memory.ts';

const POD = pod({ initContainers: [container('setup')] });
const STOP = {
  kind: 'stopContainer',
  id: 'main-0',
  name: 'main',
  graceSeconds: 30,
  signalled: 'after-hook',
  message: 'why',
} as const;

function waitingPlan(reason: string): PodPlan {
  return { goal: 'run', actions: [], waiting: new Map([['main', { reason }]]) };
}

describe('the Events of a pod', () => {
  let recorded: string[];
  let events: PodEvents;
  beforeEach(() => {
    recorded = [];
    events = new PodEvents({
      event: (_about, type, reason, message, path = 'pod') =>
        void recorded.push(`${type} ${reason} at ${path}: ${message}`),
    });
  });

  it('name the container of a stop, and the pod when its sandbox has changed', () => {
    events.stopping(POD, { ...STOP, reason: 'Killing' });
    events.stopping(POD, { ...STOP, reason: 'SandboxChanged' });
    expect(recorded).toEqual(['Normal Killing at spec.containers{main}: why', 'Normal SandboxChanged at pod: why']);
  });

  it('record a back-off once per attempt', () => {
    const memory = createWorkerMemory();
    const first = podState([sandbox()], [exited(1)]);
    events.waiting(POD, first, waitingPlan('CrashLoopBackOff'), memory);
    events.waiting(POD, first, waitingPlan('CrashLoopBackOff'), memory);
    events.waiting(POD, podState([sandbox()], [exited(1, { attempt: 1 })]), waitingPlan('CrashLoopBackOff'), memory);
    const message = 'Back-off restarting failed container main in pod web_default(uid-1)';
    expect(recorded).toEqual(Array(2).fill(`Warning BackOff at spec.containers{main}: ${message}`));
  });

  it('say why a volume is not there by the reasons of kubelet', () => {
    events.mountFailed(POD, new AgentError('FailedMount', 'no folder'));
    events.mountFailed(POD, new AgentError('FailedMapVolume', 'no device'));
    expect(recorded).toEqual(['Warning FailedMount at pod: no folder', 'Warning FailedMapVolume at pod: no device']);
  });

  it('record once that the node rejects the pod', () => {
    const rejection = { reason: 'PodOSNotSupported', message: 'why' };
    events.rejected(POD, rejection);
    events.rejected(POD, rejection);
    expect(recorded).toEqual(['Warning PodOSNotSupported at pod: why']);
  });

  it('name the image of a pull in its back-off', () => {
    events.waiting(POD, undefined, waitingPlan('ImagePullBackOff'), createWorkerMemory());
    expect(recorded).toEqual([
      'Normal BackOff at spec.containers{main}: Back-off pulling image "nginx:1.27"',
      'Warning Failed at spec.containers{main}: Error: ImagePullBackOff',
    ]);
  });

  it.each([
    ['ErrImagePull', 'Error: ErrImagePull'],
    ['InvalidImageName', 'Error: InvalidImageName'],
    ['RunContainerError', 'Error: no such file'],
  ])('report a start that failed with %s', (reason, message) => {
    events.startFailed(POD, 'setup', { reason, message: 'no such file', failures: 1, failedAt: 0, retryAt: 0 });
    expect(recorded).toEqual([`Warning Failed at spec.initContainers{setup}: ${message}`]);
  });

  it('report a failed probe by its kind', () => {
    events.unhealthy(POD, 'main', 'liveness', { kind: 'failure', message: 'timeout' });
    events.unhealthy(POD, 'main', 'liveness', { kind: 'failure', message: 'unexpected EOF', cause: 'error' });
    expect(recorded).toEqual([
      'Warning Unhealthy at spec.containers{main}: Liveness probe failed: timeout',
      'Warning Unhealthy at spec.containers{main}: Liveness probe errored and resulted in failure state: unexpected EOF',
    ]);
  });
});
