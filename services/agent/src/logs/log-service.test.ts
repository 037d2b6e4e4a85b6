import { create } from '@bufbuild/protobuf';
import { ManualClock } from '@gantry/base/testing';
import { type ContainerLogsRequest, ContainerLogsRequestSchema, type LogChunk } from '@gantry/proto';
import type { GrpcCall } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { runningContainer } from '../testing/running-container.ts';
import { logService } from './log-service.ts';

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
});
