import { expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '../generated/types.ts';
import { hasEnded, lastRunOf } from './pod-status.ts';

const status = (name: string, change: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  image: 'i',
  imageID: 'sha256:1',
  ready: false,
  restartCount: 0,
  ...change,
});
const ended = (id: string) => ({ terminated: { exitCode: 1, containerID: `docker://${id}` } });

it.each([
  ['restarted', 'docker://before'],
  ['setup', 'docker://init'],
  ['first', ''],
  ['unknown', ''],
])('the previous run of %s is "%s"', (container, id) => {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    status: {
      containerStatuses: [
        status('restarted', { lastState: ended('before') }),
        status('first', { state: ended('now') }),
      ],
      initContainerStatuses: [status('setup', { lastState: ended('init') })],
    },
  };
  expect(lastRunOf(pod, container)).toBe(id);
});

it.each([
  ['Succeeded', true],
  ['Failed', true],
  ['Running', false],
  ['Pending', false],
  ['Unknown', false],
  [undefined, false],
])('a pod in the phase %s has ended: %s', (phase, ended) => {
  const status = phase === undefined ? {} : { phase };
  expect(hasEnded({ apiVersion: 'v1', kind: 'Pod', metadata: {}, status })).toBe(ended);
});

it('no pod has not ended', () => {
  expect(hasEnded(undefined)).toBe(false);
});
