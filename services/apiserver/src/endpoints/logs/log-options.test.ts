import { create, toBinary } from '@bufbuild/protobuf';
import { ContainerLogsRequestSchema } from '@gantry/proto';
import { describe, expect, it } from 'vitest';
import { checkHasLog, logRequest, parseLogOptions, selectContainer } from './log-options.ts';
import type { ContainerState, Pod } from '@gantry/objects';

const POD = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'n', name: 'p', uid: 'u' } } as const;
const NOW = Date.parse('2026-01-01T00:00:00Z');
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

describe('the request for a log', () => {
  it.each([
    ['tailLines=5', { tailLines: 5n }],
    ['tailLines=9223372036854775807', { tailLines: MOST }],
    ['limitBytes=9223372036854775807', { limitBytes: MOST }],
    ['sinceSeconds=60', { sinceMs: BigInt(NOW - 60_000) }],
    ['sinceSeconds=9223372036854775807', { sinceMs: 0n }],
    ['sinceTime=0001-01-01T00:00:00Z', { sinceMs: 0n }],
    ['sinceTime=9999-12-31T23:59:59Z', { sinceMs: 253402300799000n }],
  ])('%s reaches the agent', (query, expected) => {
    const request = logRequest(POD, 'c', parseLogOptions(new URLSearchParams(query), 'p'), NOW);
    expect(request).toMatchObject(expected);
    expect(toBinary(ContainerLogsRequestSchema, create(ContainerLogsRequestSchema, request)).length).toBeGreaterThan(0);
  });

  it('names the previous run as the status has it', () => {
    const last = { terminated: { exitCode: 1, containerID: 'docker://before' } };
    const status = { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 1, lastState: last };
    const asked = (query: string) => {
      const options = parseLogOptions(new URLSearchParams(query), 'p');
      return logRequest({ ...POD, status: { containerStatuses: [status] } }, 'c', options, NOW).previousId;
    };
    expect([asked('previous=true'), asked('')]).toEqual(['docker://before', '']);
  });

  it.each([
    ['stream=Stdout', 'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'],
    ['stream=', 'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'],
    ['tailLines=-1', 'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'],
    ['limitBytes=0', 'PodLogOptions "p" is invalid: limitBytes: Invalid value: 0: must be greater than 0'],
    ['sinceSeconds=0', 'PodLogOptions "p" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0'],
  ])('%s is refused', (query, message) => {
    expect(() => parseLogOptions(new URLSearchParams(query), 'p')).toThrow(message);
  });
});

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
