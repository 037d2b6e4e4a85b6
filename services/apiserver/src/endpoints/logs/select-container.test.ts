import type { ContainerState, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { checkHasLog, selectContainer } from './select-container.ts';

function pod(names: readonly string[], state: ContainerState = {}, last: ContainerState = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: names.map((name) => ({ name, image: 'nginx' })) },
    status: {
      containerStatuses: names.map((name) => ({
        name,
        image: 'nginx',
        imageID: '',
        ready: false,
        restartCount: 0,
        state,
        lastState: last,
      })),
    },
  };
}

describe('selectContainer', () => {
  it('takes the only one, and asks for a name when there are more', () => {
    expect(selectContainer(pod(['a']), '')).toBe('a');
    expect(() => selectContainer(pod(['a', 'b']), '')).toThrow(
      'a container name must be specified for pod web, choose one of: [a b]',
    );
    expect(() => selectContainer(pod(['a']), 'x')).toThrow('container x is not valid for pod web');
  });
});

describe('checkHasLog', () => {
  it.each([
    [{ waiting: { reason: 'ContainerCreating' } }, 'container "a" in pod "web" is waiting to start: ContainerCreating'],
    [{ waiting: { reason: 'ErrImagePull' } }, "is waiting to start: image can't be pulled"],
    [{ waiting: { reason: 'ImagePullBackOff' } }, 'is waiting to start: trying and failing to pull image'],
    [{}, 'is waiting to start - no logs yet'],
  ])('%j has none', (state, message) => {
    expect(() => checkHasLog(pod(['a'], state), 'a', 'current')).toThrow(message);
  });

  it('finds the log of what runs, has run, or ran before', () => {
    const terminated = { terminated: { exitCode: 1, containerID: 'docker://x' } };
    checkHasLog(pod(['a'], { running: {} }), 'a', 'current');
    checkHasLog(pod(['a'], terminated), 'a', 'current');
    checkHasLog(pod(['a'], { waiting: { reason: 'CrashLoopBackOff' } }, terminated), 'a', 'current');
    checkHasLog(pod(['a'], { running: {} }, terminated), 'a', 'previous');
    expect(() => checkHasLog(pod(['a'], { running: {} }), 'a', 'previous')).toThrow(
      'previous terminated container "a" in pod "web" not found',
    );
  });
});
