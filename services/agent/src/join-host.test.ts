import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { type Node, NODES, StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { podRangeOf } from './join-host.ts';
import { AgentError } from './runtime/agent-error.ts';

const NODE: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'host-2-1' } };

async function waiting(stop = new AbortController()) {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  await client.create(NODES, NODE, stop.signal);
  const range = podRangeOf({ client, node: 'host-2-1', clock }, stop.signal);
  return { clock, client, range, stop };
}

describe('the range of a host', () => {
  it('is waited for', async () => {
    const { clock, client, range, stop } = await waiting();
    await clock.advance(20_000);
    await client.update(NODES, { ...NODE, spec: { podCIDR: '10.128.16.0/20' } }, stop.signal);
    await clock.advance(1_000);
    await expect(range).resolves.toBe('10.128.16.0/20');
    expect(clock.nextTimerMs(), 'no timer is left').toBeUndefined();
  });

  it('is named in the error when it is not assigned within a minute', async () => {
    const { clock, range } = await waiting();
    const outcome = expect(range).rejects.toMatchObject({
      name: 'AgentError',
      code: 'Identity',
      message: expect.stringMatching(
        /^node host-2-1 got no range of pods \(spec\.podCIDR\).*\(waited 60 s\)$/,
      ) as string,
    });
    await clock.advance(61_000);
    await outcome;
  });

  it('ends with the error of the API, and with the caller', async () => {
    const lost = await waiting();
    lost.client.failNext(({ verb }) => verb === 'get', StatusError.unavailable('no API server'));
    const refused = expect(lost.range).rejects.toBeInstanceOf(StatusError);
    await lost.clock.advance(1_000);
    await refused;
    const { range, stop } = await waiting();
    stop.abort(new AgentError('Runtime', 'the caller stopped'));
    await expect(range).rejects.toThrow('the caller stopped');
  });
});
