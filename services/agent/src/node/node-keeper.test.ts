import { type Node, StatusError } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { NodeKeeper, NODES } from './node-keeper.ts';

const KEY = { namespace: '', name: 'n' };

describe('the keeper of a node, overtaken by others', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let meanwhile: (write: ObjectWrite) => Promise<void>;
  let keeper: NodeKeeper;
  let looks: number;
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    meanwhile = async () => undefined;
    looks = 0;
    const { engine } = new HollowRuntime({ clock, images: {} });
    const client = createOvertakenClient(server, (write) => meanwhile(write));
    keeper = new NodeKeeper({
      client: {
        ...client,
        get: (resource, key, signal) => {
          looks += 1;
          return client.get(resource, key, signal);
        },
      },
      engine,
      observation: {
        name: 'n',
        engineName: 'engine',
        address: '10.0.0.1',
        engine: await engine.info(),
        privilege: 'full',
        shares: 1,
        ids: { machine: 'm', boot: 'b', system: 's' },
      },
      clock,
      logger: silentLogger,
    });
    await keeper.register(stop.signal);
    void keeper.run(stop.signal);
    await clock.advance(0);
  });
  afterEach(() => stop.abort());

  const node = () => server.all<Node>(NODES)[0];
  const ready = () => node()?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  /** As the node lifecycle controller does when the agent was silent. */
  const markLost = async () => {
    const status = { ...node()?.status, conditions: [{ type: 'Ready', status: 'Unknown' }] };
    const object = { ...node(), status } as Node;
    await server.write({ verb: 'update', resource: NODES, key: KEY, object, subresource: 'status' }, stop.signal);
  };
  const patch = async (change: object) => {
    await server.write(
      { verb: 'patch', resource: NODES, key: KEY, patch: change, patchType: 'application/merge-patch+json' },
      stop.signal,
    );
  };
  /** Lets others be faster `times` times. */
  const overtake = (times: number, act: (time: number) => Promise<void>) => {
    let left = times;
    meanwhile = async () => {
      if (left === 0) return;
      left -= 1;
      await act(left);
    };
  };

  it('tells at once that it is back, however often others write the Node', async () => {
    await markLost();
    overtake(3, (time) => patch({ metadata: { labels: { team: `web-${time}` } } }));
    keeper.checkNow();
    await clock.advance(1);
    expect(ready()).toBe('True');
    expect(node()?.metadata.labels?.['team']).toBe('web-0');
  });

  it('looks again soon after a look that failed', async () => {
    await markLost();
    server.failNext(({ verb }) => verb === 'update', StatusError.unavailable('no'));
    keeper.checkNow();
    await clock.advance(1);
    expect(ready()).toBe('Unknown');
    await clock.advance(500);
    expect(ready()).toBe('True');
  });

  it('looks once more when it is asked to while it looks', async () => {
    await markLost();
    overtake(1, async () => keeper.checkNow());
    looks = 0;
    keeper.checkNow();
    await clock.advance(1);
    expect(looks).toBe(2);
  });

  it('does not uncordon a node that a user has cordoned meanwhile', async () => {
    const draining = 'gantry.dev/draining';
    await patch({ metadata: { annotations: { [draining]: 'true' } }, spec: { unschedulable: true } });
    overtake(1, () => patch({ metadata: { annotations: { [draining]: null } } }));
    keeper.checkNow();
    await clock.advance(1);
    expect(node()?.spec?.unschedulable).toBe(true);
  });
});
