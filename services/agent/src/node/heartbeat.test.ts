import { LEASES } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Heartbeat } from './heartbeat.ts';

const KEY = { namespace: 'kube-node-lease', name: 'n' };

describe('a heartbeat with concurrent writes of other clients', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let overtake: () => Promise<void>;
  let recoveries: number;
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    overtake = async () => undefined;
    recoveries = 0;
    const client = createOvertakenClient(server, () => overtake());
    const onRecovered = () => {
      recoveries += 1;
    };
    void new Heartbeat({ client, node: 'n', clock, logger: silentLogger, onRecovered }).run(stop.signal);
    await clock.advance(1500);
  });
  afterEach(() => stop.abort());

  const once = (act: () => Promise<unknown>) => {
    overtake = async () => {
      overtake = async () => undefined;
      await act();
    };
  };
  const label = async () => {
    const patch = { metadata: { labels: { team: 'web' } } };
    await server.patch(LEASES, KEY, { merge: patch }, stop.signal);
  };
  const renewed = () => Date.parse(server.all(LEASES)[0]?.spec?.renewTime ?? '');

  it('is not late when its Lease is written by another client, and keeps that change', async () => {
    once(label);
    const before = renewed();
    await clock.advance(1000);
    expect(renewed() - before).toBe(1000);
    expect(server.all(LEASES)[0]?.metadata.labels).toEqual({ team: 'web' });
    expect(recoveries).toBe(1);
  });

  it('is not late when its Lease is removed', async () => {
    once(() => server.write({ verb: 'delete', resource: LEASES, key: KEY }, stop.signal));
    const before = renewed();
    await clock.advance(1000);
    expect(renewed() - before).toBe(1000);
    expect(recoveries).toBe(1);
  });
});
