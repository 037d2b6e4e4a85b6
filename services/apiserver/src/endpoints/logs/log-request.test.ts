import { create, toBinary } from '@bufbuild/protobuf';
import { ContainerLogsRequestSchema } from '@gantry/proto';
import { describe, expect, it } from 'vitest';
import { parseLogOptions } from './log-options.ts';
import { logRequest } from './log-request.ts';

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
  ])('%s reaches the agent as %j', (query, expected) => {
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
