import { create } from '@bufbuild/protobuf';
import { ManualClock } from '@gantry/base/testing';
import { type NodeUsageReply, type NodeUsageRequest, NodeUsageRequestSchema } from '@gantry/proto';
import { type GrpcCall, silentLogger } from '@gantry/service';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import type { ContainerStats } from '../runtime/stats.ts';
import { usageHandlers } from './usage-handlers.ts';
import { UsageSampler } from './usage-sampler.ts';

const MIB = 2 ** 20;

let clock: ManualClock;
let sampler: UsageSampler;
/** The usage of each container in millicores. A missing container has ended. */
let running: Map<string, number>;
let asked: (readonly string[])[];
let startedAt: number;

beforeEach(() => {
  clock = new ManualClock();
  startedAt = clock.now();
  running = new Map();
  asked = [];
  const readStats = async (ids: readonly string[]) => {
    asked.push(ids);
    const at = clock.now();
    return new Map<string, ContainerStats>(
      ids.flatMap((id) => {
        const millis = running.get(id);
        if (millis === undefined) return [];
        return [[id, { at, cpuNanos: millis * 1000 * (at - startedAt), memoryBytes: MIB, memoryUsageBytes: MIB }]];
      }),
    );
  };
  sampler = new UsageSampler({ stats: { readStats }, own: 'agent', clock, logger: silentLogger });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void sampler.run(stop.signal);
});

function podOf(containers: Readonly<Record<string, ContainerState['state']>>): PodState {
  const states = Object.entries(containers).map(
    ([name, state]): ContainerState => ({
      id: `id-${name}`,
      name,
      attempt: 0,
      sandboxId: 's',
      hash: 'h',
      image: 'i',
      imageId: 'i',
      state,
      createdAt: startedAt,
      startedAt,
      restartDelayMs: 0,
      resources: {},
    }),
  );
  return {
    owner: { cluster: 'c', node: 'n' },
    identity: { uid: 'u', namespace: 'd', name: 'p' },
    graceSeconds: 0,
    sandboxes: [],
    imageHolds: [],
    containers: states,
  };
}

const shown = () =>
  sampler
    .pods()
    .map(({ uid, containers }) => [uid, ...containers.map(({ name, usage }) => [name, usage.cpuNanoCores])]);

describe('usage', () => {
  it('is measured at intervals, for all containers in one call', async () => {
    running = new Map([
      ['agent', 10],
      ['id-a', 250],
      ['id-b', 500],
    ]);
    sampler.observe('u', podOf({ a: 'running', b: 'running', c: 'exited' }));
    await clock.advance(30_000);
    expect(asked).toHaveLength(4);
    expect(asked.at(-1)).toEqual(['agent', 'id-a', 'id-b']);
    expect(shown()).toEqual([['u', ['a', 250_000_000], ['b', 500_000_000]]]);
    expect(sampler.node()).toMatchObject({ cpuNanoCores: 760_000_000, memoryBytes: 3 * MIB, windowMs: 10_000 });
  });

  it('follows changes between two samples', async () => {
    running.set('id-a', 100);
    sampler.observe('u', podOf({ a: 'running' }));
    await clock.advance(20_000);
    startedAt = clock.now() - 10_000;
    running.set('id-a', 300);
    await clock.advance(10_000);
    // 2000 ms of CPU at 20 s, 6000 ms at 30 s.
    expect(shown()).toEqual([['u', ['a', 400_000_000]]]);
  });

  it('of a young container is that since its start, when this is long enough ago', async () => {
    await clock.advance(7000);
    running.set('id-a', 100);
    startedAt = clock.now();
    sampler.observe('u', podOf({ a: 'running' }));
    await clock.advance(3000);
    expect(shown()).toEqual([]);
    await clock.advance(10_000);
    expect(shown()).toEqual([['u', ['a', 100_000_000]]]);
  });

  it('is that of whole pods, and is forgotten with what has ended', async () => {
    running = new Map([
      ['id-a', 1],
      ['id-b', 1],
    ]);
    sampler.observe('u', podOf({ a: 'running' }));
    await clock.advance(20_000);
    sampler.observe('u', podOf({ a: 'running', b: 'running' }));
    expect(shown()).toEqual([]);
    await clock.advance(10_000);
    expect(shown()).toHaveLength(1);
    sampler.observe('u', podOf({ a: 'exited', b: 'running' }));
    expect(shown()).toEqual([['u', ['b', 1_000_000]]]);
    sampler.observe('u', undefined);
    expect(shown()).toEqual([]);
    await clock.advance(10_000);
    expect(asked.at(-1)).toEqual(['agent']);
  });
});

describe('the usage service', () => {
  const ask = (organizations: readonly string[]): Promise<NodeUsageReply> => {
    const handler = usageHandlers(sampler)['nodeUsage'] as unknown as {
      handle: (request: NodeUsageRequest, call: Partial<GrpcCall>) => Promise<NodeUsageReply>;
    };
    const identity = { commonName: 'a', organizations, organizationalUnits: [] };
    return handler.handle(create(NodeUsageRequestSchema), { identity });
  };

  it('answers API servers', async () => {
    running = new Map([
      ['agent', 10],
      ['id-a', 250],
    ]);
    sampler.observe('u', podOf({ a: 'running' }));
    await clock.advance(20_000);
    expect(await ask(['gantry:apiservers'])).toMatchObject({
      node: { cpuNanoCores: 260_000_000n, memoryBytes: BigInt(2 * MIB) },
      windowMs: 10_000n,
      pods: [{ podUid: 'u', windowMs: 10_000n, containers: [{ name: 'a', usage: { cpuNanoCores: 250_000_000n } }] }],
    });
  });

  it('answers no others', async () => {
    await expect(ask(['system:nodes'])).rejects.toMatchObject({ reason: 'Forbidden' });
  });
});
