import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTime } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBootstrapAuthenticator } from './bootstrap-token.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const HOUR_MS = 3_600_000;

describe('the bootstrap token', () => {
  let folder: string;
  let clock: ManualClock;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-bootstrap-'));
    clock = new ManualClock();
    await writeFile(join(folder, 'token'), `${TOKEN}\n`);
    await writeFile(join(folder, 'made-at'), `${formatTime(clock.now())}\n`);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const names = async (token = TOKEN) =>
    (await createBootstrapAuthenticator(folder, clock, silentLogger).authenticate(token))?.name;

  it('is valid for a day, also in an authenticator that has read it before', async () => {
    const authenticator = createBootstrapAuthenticator(folder, clock, silentLogger);
    expect((await authenticator.authenticate(TOKEN))?.groups).toContain('system:bootstrappers');
    await clock.advance(24 * HOUR_MS - 1);
    expect((await authenticator.authenticate(TOKEN))?.name).toBe('system:bootstrap:abcdef');
    await clock.advance(1);
    expect(await authenticator.authenticate(TOKEN)).toBeUndefined();
    await writeFile(join(folder, 'made-at'), formatTime(clock.now()));
    await clock.advance(1000);
    expect((await authenticator.authenticate(TOKEN))?.name).toBe('system:bootstrap:abcdef');
  });

  it.each([
    ['missing', undefined],
    ['unreadable', 'soon'],
    ['in the future', '2999-01-01T00:00:00Z'],
  ])('is invalid when its time is %s', async (_, madeAt) => {
    if (madeAt === undefined) await rm(join(folder, 'made-at'));
    else await writeFile(join(folder, 'made-at'), madeAt);
    expect(await names()).toBeUndefined();
  });

  it('is compared whole', async () => {
    expect(await names()).toBe('system:bootstrap:abcdef');
    expect(await names('abcdef.0123456789abcdee')).toBeUndefined();
    expect(await names('abcdef.0123456789abcdef0')).toBeUndefined();
    expect(await names('abcdeg.0123456789abcdef')).toBeUndefined();
  });
});
