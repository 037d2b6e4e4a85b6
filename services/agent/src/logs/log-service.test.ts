import { create } from '@bufbuild/protobuf';
import { ManualClock } from '@gantry/base/testing';
import { type ContainerLogsRequest, ContainerLogsRequestSchema, type LogChunk } from '@gantry/proto';
import type { GrpcCall } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { runningContainer } from '../testing/running-container.ts';
import { plainContainer } from '../runtime/testing/plain-specs.ts';
import { logService, readContainerLog } from './log-service.ts';

const OWNER = { cluster: 'c', node: 'n' };
const { signal } = new AbortController();

describe('the log service', () => {
  let runtime: HollowRuntime;
  beforeEach(async () => {
    const behaviour = { output: () => `${'x'.repeat(200_000)}\n` };
    ({ runtime } = await runningContainer(OWNER, { clock: new ManualClock(), behaviour }));
  });

  const sizes = async (limitBytes?: bigint) => {
    const { handlers } = logService(runtime, OWNER);
    const { handle } = handlers['containerLogs'] as unknown as {
      handle: (request: ContainerLogsRequest, call: Partial<GrpcCall>) => AsyncIterable<LogChunk>;
    };
    const request = create(ContainerLogsRequestSchema, {
      podUid: 'uid-1',
      container: 'main',
      ...(limitBytes === undefined ? {} : { limitBytes }),
    });
    const call = {
      signal,
      identity: { commonName: 'a', organizations: ['gantry:apiservers'], organizationalUnits: [] },
    };
    const found: number[] = [];
    for await (const { data } of handle(request, call)) found.push(data.length);
    return found;
  };

  it('sends a long line in small messages, after an empty one that shows that there is a log', async () => {
    expect(await sizes()).toEqual([0, 65_536, 65_536, 65_536, 3_393]);
  });

  it('ends at the limit', async () => {
    expect(await sizes(100_000n)).toEqual([0, 65_536, 34_464]);
    expect(await sizes(65_536n)).toEqual([0, 65_536]);
    expect(await sizes(0n)).toEqual([0]);
  });

  it('reads the newest run that has begun, or the one that is named, which may be the newest', async () => {
    const behaviour = { output: ({ attempt }: { readonly attempt: number }) => `run ${attempt}` };
    const {
      runtime: hollow,
      sandboxId,
      containerId,
    } = await runningContainer(OWNER, {
      clock: new ManualClock(),
      behaviour,
    });
    const next = plainContainer({
      owner: OWNER,
      pod: { uid: 'uid-1', namespace: 'default', name: 'web' },
      image: 'sha256:1',
      sandboxId,
      attempt: 1,
    });
    const secondId = await hollow.containers.createContainer(next, signal);
    const read = async (previousId = '') => {
      const request = create(ContainerLogsRequestSchema, {
        pod: 'web',
        podUid: 'uid-1',
        container: 'main',
        previousId,
      });
      const parts: Uint8Array[] = [];
      for await (const part of readContainerLog(hollow, OWNER, request, signal)) parts.push(part);
      return Buffer.concat(parts).toString();
    };
    expect(await read()).toBe('run 0');
    await hollow.containers.startContainer(secondId, signal);
    hollow.exit(secondId, 1);
    expect(await read()).toBe('run 1');
    expect(await read(`docker://${secondId}`)).toBe('run 1');
    expect(await read(`docker://${containerId}`)).toBe('run 0');
    await expect(read('docker://gone')).rejects.toThrow('previous terminated container "main" in pod "web" not found');
  });
});
