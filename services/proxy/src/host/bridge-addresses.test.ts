import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { expect, onTestFinished, test, vi } from 'vitest';
import { hostRange } from '../rules/host-addresses.ts';
import { scriptProgram } from '../testing/scripted-program.ts';
import { BridgeAddresses, removeBridgeAddresses } from './bridge-addresses.ts';

const range = hostRange('10.128.0.0/20') ?? { first: 0, last: 0 };
/** For programs on a busy machine. */
const WAIT = { timeout: 30_000 };
/** Lists what `addresses` has, and writes down what is asked of `ip -batch`. */
const SCRIPT = `
if [ "$1" = -batch ]; then cat >> "$FOLDER/batch"; exit; fi
[ -e "$FOLDER/addresses" ] || { echo 'Device "gtp-test" does not exist.' >&2; exit 1; }
cat "$FOLDER/addresses"
`;

test('addresses are written when they are known, and again after others have removed them', async () => {
  const folder = scriptProgram('ip', SCRIPT);
  const clock = new ManualClock();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const batch = () => readFileSync(join(folder, 'batch'), 'utf8');
  writeFileSync(join(folder, 'addresses'), '');
  const addresses = new BridgeAddresses({ device: 'gtp-test', range, clock, logger: silentLogger });
  void addresses.run(stop.signal);
  addresses.keep(new Set(['10.128.12.3']));
  const line = 'address replace 10.128.12.3/32 dev gtp-test\n';
  // The first round has ended when the next one is due.
  await vi.waitFor(() => expect(clock.nextTimerMs()).toBe(5000), WAIT);
  expect(batch()).toBe(line);
  await clock.advance(5000);
  await vi.waitFor(() => expect(clock.nextTimerMs()).toBe(5000), WAIT);
  expect(batch()).toBe(line.repeat(2));
});

test('removal takes them away; a bridge that is not there has none', async () => {
  const folder = scriptProgram('ip', SCRIPT);
  const { signal } = new AbortController();
  await removeBridgeAddresses({ device: 'gtp-test', range }, signal);
  writeFileSync(join(folder, 'addresses'), '9: gtp-test    inet 10.128.12.3/32 scope global gtp-test\\\n');
  await removeBridgeAddresses({ device: 'gtp-test', range }, signal);
  expect(readFileSync(join(folder, 'batch'), 'utf8')).toBe('address delete 10.128.12.3/32 dev gtp-test\n');
});
