import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { parseIpv4Range } from '@gantry/objects';
import { createMetrics, silentLogger } from '@gantry/service';
import { expect, onTestFinished, test, vi } from 'vitest';
import { scriptProgram } from '../testing/scripted-program.ts';
import { TunnelKeeper } from './tunnel-keeper.ts';
import { type Tunnel, tunnelOf } from './tunnel.ts';

/** Long enough for programs on a busy machine. */
const WAIT = { timeout: 30_000 };
/** Records its arguments and input. `monitor` prints the lines of a file and keeps running. */
const SCRIPT = `
echo "$*" >> "$FOLDER/calls"
case "$*" in
  *monitor*) cat "$FOLDER/changes"; exec sleep 3600 ;;
  *) echo '[]' ;;
esac
`;
const TUNNEL = tunnelOf({
  clusterId: 'gantry-test',
  podBridge: 'gtp-test',
  podRange: must(parseIpv4Range('10.128.0.0/20'), 'a range'),
  hostAddress: '192.0.2.1',
});

function keep(tunnel: Tunnel | undefined, changes = '') {
  const folder = scriptProgram('ip', SCRIPT);
  writeFileSync(join(folder, 'changes'), changes);
  const metrics = createMetrics();
  const keeper = new TunnelKeeper({
    device: 'gtv-test',
    tunnel,
    clock: new ManualClock(),
    random: () => 0,
    logger: silentLogger,
    metrics: { hosts: metrics.gauge('hosts', 'Hosts'), failures: metrics.counter('failures', 'Failures') },
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const path = join(folder, 'calls');
  const calls = () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);
  const looks = () => calls().filter((call) => call.includes('link show type vxlan')).length;
  const begin = () => {
    void keeper.run(stop.signal);
    // A plan that arrives while the keeper waits is processed immediately.
    setImmediate(() => keeper.keep({ hosts: [], refused: [] }));
  };
  return { keeper, stop, calls, looks, begin };
}

test('changes are followed on a host with a tunnel, and one of it is looked at', async () => {
  const { keeper, stop, calls, looks, begin } = keep(TUNNEL, '5: gtp-other: mtu 1450\n7: gtv-test: mtu 1350\n');
  begin();
  await vi.waitFor(() => expect(looks()).toBe(1), WAIT);
  const following = keeper.follow(stop.signal);
  await vi.waitFor(() => expect(looks()).toBe(2), WAIT);
  expect(calls()).toContain('-o monitor link address route neigh');
  stop.abort();
  await expect(following).resolves.toBeUndefined();
});

test('no program follows changes on a host without a tunnel', async () => {
  const { keeper, stop, calls, looks, begin } = keep(undefined);
  const following = keeper.follow(stop.signal);
  begin();
  // The remains of an earlier start are removed once.
  await vi.waitFor(() => expect(looks()).toBe(1), WAIT);
  expect(calls().filter((call) => call.includes('monitor'))).toEqual([]);
  stop.abort();
  await expect(following, 'until the proxy stops').resolves.toBeUndefined();
});
