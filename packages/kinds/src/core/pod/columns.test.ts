import { describe, expect, it } from 'vitest';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '@gantry/objects';
import { podColumns } from './columns.ts';

const NOW = Date.parse('2030-01-01T00:10:00Z');

function status(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'i', imageID: '', ready: false, restartCount: 0, state, ...more };
}

function pod(podStatus: PodStatus, more: { deleted?: true; init?: string[]; sidecar?: string } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...(more.deleted === undefined ? {} : { deletionTimestamp: '2030-01-01T00:00:00Z' }) },
    spec: {
      containers: [{ name: 'c' }],
      initContainers: [
        ...(more.init ?? []).map((name) => ({ name })),
        ...(more.sidecar === undefined ? [] : [{ name: more.sidecar, restartPolicy: 'Always' }]),
      ],
    },
    status: podStatus,
  };
}

/** Ready, Status and Restarts as a table prints them. */
function row(of: Pod): string {
  return podColumns
    .filter(({ name }) => ['Ready', 'Status', 'Restarts'].includes(name))
    .map(({ value }) => value(of, NOW))
    .join(' | ');
}

const ended = (reason: string, exitCode = 1): ContainerState => ({
  terminated: { exitCode, reason, finishedAt: '2030-01-01T00:08:00Z' },
});
const running: ContainerState = { running: {} };

describe('the row of a pod', () => {
  it.each<[string, Pod, string]>([
    ['that waits for a node', pod({ phase: 'Pending' }), '0/1 | Pending | 0'],
    [
      'that waits at its gates',
      pod({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
      '0/1 | SchedulingGated | 0',
    ],
    [
      'that runs',
      pod({ phase: 'Running', containerStatuses: [status('c', running, { ready: true })] }),
      '1/1 | Running | 0',
    ],
    [
      'that cannot pull its image',
      pod({ phase: 'Pending', containerStatuses: [status('c', { waiting: { reason: 'ImagePullBackOff' } })] }),
      '0/1 | ImagePullBackOff | 0',
    ],
    [
      'that was started again',
      pod({
        phase: 'Running',
        containerStatuses: [status('c', running, { ready: true, restartCount: 2, lastState: ended('Error') })],
      }),
      '1/1 | Running | 2 (2m ago)',
    ],
    [
      'that has done its work',
      pod({ phase: 'Succeeded', containerStatuses: [status('c', ended('Completed', 0))] }),
      '0/1 | Completed | 0',
    ],
    [
      'whose container ended without saying why',
      pod({ phase: 'Failed', containerStatuses: [status('c', { terminated: { exitCode: 3 } })] }),
      '0/1 | ExitCode:3 | 0',
    ],
    [
      'whose second init container runs',
      pod(
        { phase: 'Pending', initContainerStatuses: [status('a', ended('Completed', 0)), status('b', running)] },
        { init: ['a', 'b'] },
      ),
      '0/1 | Init:1/2 | 0',
    ],
    [
      'whose init container fails',
      pod(
        {
          phase: 'Pending',
          initContainerStatuses: [status('a', { waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 4 })],
        },
        { init: ['a'] },
      ),
      '0/1 | Init:CrashLoopBackOff | 4',
    ],
    [
      'with a sidecar',
      pod(
        {
          phase: 'Running',
          initContainerStatuses: [status('s', running, { ready: true, started: true, restartCount: 1 })],
          containerStatuses: [status('c', running, { ready: true })],
        },
        { sidecar: 's' },
      ),
      '2/2 | Running | 1',
    ],
    [
      'that is being deleted',
      pod({ phase: 'Running', containerStatuses: [status('c', running, { ready: true })] }, { deleted: true }),
      '1/1 | Terminating | 0',
    ],
    [
      'on a lost node that is being deleted',
      pod({ phase: 'Running', reason: 'NodeLost' }, { deleted: true }),
      '0/1 | Unknown | 0',
    ],
  ])('%s', (_, of, text) => {
    expect(row(of)).toBe(text);
  });
});
