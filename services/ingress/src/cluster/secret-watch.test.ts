import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { type Secret, SECRETS } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import { SecretWatch } from './secret-watch.ts';

const secret = (data: Secret['data']): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'a', name: 'tls' },
  ...(data === undefined ? {} : { data }),
});

it('a watch that failed begins again, and shows what has changed since', async () => {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  let failures = 1;
  const watch = new SecretWatch({
    client,
    clock,
    random: () => 0.5,
    logger: silentLogger,
    onChange: () => {
      if (failures-- > 0) throw new RangeError('out of order');
    },
  });
  watch.follow(new Set(['a/tls']));
  await clock.advance(0);
  expect(failures).toBe(0);
  expect(watch.get('a', 'tls')).toEqual({ kind: 'missing' });
  await client.put(SECRETS, secret({ 'tls.crt': '', 'tls.key': '' }));
  await clock.advance(1000);
  expect(watch.get('a', 'tls').kind).not.toBe('missing');
  watch.follow(new Set());
  await clock.advance(60_000);
  expect(clock.nextTimerMs()).toBeUndefined();
});
