import { mkdtemp, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PullCredential } from './keyring.ts';
import { PulledImages } from './pulled-images.ts';

const credential = (uid: string, hash: string): PullCredential => ({
  username: 'u',
  password: 'sesame',
  hash,
  secret: { uid, namespace: 'default', name: uid },
});

const RECORD = {
  reference: 'quay.io/app:1',
  access: { secret: credential('a', 'h').secret, hash: 'h' },
  origin: 'pulled',
} as const;

describe('an image that the host has', () => {
  let folder: string;
  let pulled: PulledImages;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-images-'));
    pulled = new PulledImages(folder, 'n');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const may = (reference: string, ...own: PullCredential[]) => pulled.mayUse('sha256:1', reference, async () => own);
  const recorded = (reference: string, by?: PullCredential) =>
    pulled.record('sha256:1', {
      reference,
      access: by === undefined ? 'anyone' : { secret: by.secret, hash: by.hash },
    });

  it('may be used by every pod when this cluster has not pulled it, or has without a credential', async () => {
    expect(await may('quay.io/app:1')).toBe(true);
    await recorded('quay.io/app:1', credential('a', 'h'));
    expect(await may('quay.io/app:1')).toBe(false);
    await recorded('quay.io/app:1');
    expect(await may('quay.io/app:1')).toBe(true);
  });

  it('may be used by pods with the Secret, or the credential, that it was pulled with', async () => {
    await recorded('quay.io/app:1', credential('a', 'h'));
    expect(await may('quay.io/app:1', credential('a', 'rotated'))).toBe(true);
    expect(await may('quay.io/app:1', credential('copy', 'h'))).toBe(true);
    expect(await may('quay.io/app:2', credential('copy', 'h'))).toBe(true);
    expect(await may('quay.io/app:1', credential('b', 'other'))).toBe(false);
    expect(await may('other.io/app:1', credential('a', 'h'))).toBe(false);
  });

  it('may be used by none for a record that was cut, and by a pod that pulls it again', async () => {
    await recorded('quay.io/app:1', credential('a', 'h'));
    const [file = ''] = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    await truncate(file, 20);
    expect(await may('quay.io/app:1', credential('a', 'h'))).toBe(false);
    await recorded('quay.io/app:1', credential('a', 'h'));
    expect(await may('quay.io/app:1', credential('a', 'h'))).toBe(true);
    expect(await may('quay.io/app:1')).toBe(false);
  });

  it('may be used by none when an agent ended while it pulled it', async () => {
    await pulled.intend('quay.io/app:1');
    expect(await may('quay.io/app:1')).toBe(false);
    expect(await may('quay.io/app:2')).toBe(true);
    await pulled.endIntent('quay.io/app:1');
    expect(await may('quay.io/app:1')).toBe(true);
    await pulled.intend('quay.io/app:1');
    await pulled.intend('quay.io/app:1');
    await pulled.endIntent('quay.io/app:1');
    expect(await may('quay.io/app:1')).toBe(false);
    await recorded('quay.io/app:1');
    expect(await may('quay.io/app:1')).toBe(true);
  });

  it('may be used by none after a pull of it was aborted, until one that succeeds', async () => {
    await pulled.intend('quay.io/app:1');
    pulled.leaveIntent('quay.io/app:1');
    expect(await may('quay.io/app:1')).toBe(false);
    await pulled.intend('quay.io/app:1');
    await pulled.endIntent('quay.io/app:1', async () => 'sha256:1');
    expect(await may('quay.io/app:1'), 'a refusal gives no access').toBe(false);
    await pulled.intend('quay.io/app:1');
    await recorded('quay.io/app:1', credential('a', 'h'));
    expect(await pulled.isPulling()).toBe(false);
    expect(await may('quay.io/app:1')).toBe(false);
    expect(await may('quay.io/app:1', credential('a', 'h'))).toBe(true);
  });

  it('may be used by none after an agent was killed while it pulled it, and the registry has refused the next one', async () => {
    await new PulledImages(folder, 'n').intend('quay.io/app:1');
    await pulled.intend('quay.io/app:1');
    await pulled.endIntent('quay.io/app:1', async () => 'sha256:1');
    expect(await may('quay.io/app:1')).toBe(false);
    await pulled.intend('quay.io/app:1');
    await recorded('quay.io/app:1', credential('a', 'h'));
    expect(await pulled.isPulling()).toBe(false);
    expect(await may('quay.io/app:1', credential('a', 'h'))).toBe(true);
  });

  it.each(['refused', 'recorded as another image'] as const)(
    'may be used by none while one agent pulls it and the pull of another one is %s',
    async (end) => {
      const other = new PulledImages(folder, 'other');
      await pulled.intend('quay.io/app:1');
      await other.intend('quay.io/app:1');
      if (end === 'refused') await other.endIntent('quay.io/app:1', async () => undefined);
      else await other.record('sha256:2', RECORD);
      expect(await may('quay.io/app:1')).toBe(false);
      await recorded('quay.io/app:1');
      expect(await may('quay.io/app:1')).toBe(true);
      expect(await pulled.isPulling()).toBe(false);
    },
  );

  it('is pulled no more when the intent of an earlier version is followed by a pull', async () => {
    await pulled.intend('quay.io/app:1');
    const [name = ''] = await readdir(join(folder, 'intents'));
    await rename(join(folder, 'intents', name), join(folder, 'intents', name.split('-')[0] ?? ''));
    expect(await may('quay.io/app:1')).toBe(false);
    await recorded('quay.io/app:1');
    expect(await pulled.isPulling()).toBe(false);
  });

  it('is not pulled any more when the pull after an aborted one fails, and the host does not have it', async () => {
    await pulled.intend('quay.io/app:1');
    pulled.leaveIntent('quay.io/app:1');
    expect(await pulled.isPulling()).toBe(true);
    await pulled.intend('quay.io/app:1');
    await pulled.endIntent('quay.io/app:1', async () => undefined);
    expect(await pulled.isPulling()).toBe(false);
  });

  it('is pulled no more after a pull that was not recorded, and one that was', async () => {
    await pulled.intend('quay.io/app:1');
    await writeFile(join(folder, 'pulled'), '');
    await expect(recorded('quay.io/app:1')).rejects.toThrow();
    await rm(join(folder, 'pulled'));
    expect(await may('quay.io/app:1')).toBe(false);
    await pulled.intend('quay.io/app:1');
    await recorded('quay.io/app:1');
    expect(await pulled.isPulling()).toBe(false);
  });

  it('is pulled no more after an intent that could not be written, and a pull', async () => {
    await writeFile(join(folder, 'intents'), '');
    await expect(pulled.intend('quay.io/app:1')).rejects.toThrow();
    await rm(join(folder, 'intents'));
    await pulled.intend('quay.io/app:1');
    await recorded('quay.io/app:1');
    expect(await pulled.isPulling()).toBe(false);
  });

  it.each(['docker.io/team/app', 'team/app:latest', 'team/app@sha256:0123', 'index.docker.io/team/app:latest'])(
    'may be used by none as %s when an agent ended while it pulled it as team/app',
    async (reference) => {
      await pulled.intend('team/app');
      expect(await may(reference)).toBe(false);
      expect(await may('team/app:1')).toBe(true);
      await pulled.endIntent('team/app');
      expect(await may(reference)).toBe(true);
    },
  );

  it('is known to the other agents of the host, without the password', async () => {
    await recorded('quay.io/app:1', credential('a', 'h'));
    expect(await new PulledImages(folder, 'other').recordsOf('sha256:1')).toEqual([
      { reference: 'quay.io/app:1', access: { hash: 'h', secret: { uid: 'a', namespace: 'default', name: 'a' } } },
    ]);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
  });

  it('has one record of each reference and credential, however often it is pulled', async () => {
    for (let pulls = 0; pulls < 3; pulls++) {
      await recorded('quay.io/app:1');
      await recorded('quay.io/app:1', credential('a', 'h'));
    }
    expect(await pulled.recordsOf('sha256:1')).toHaveLength(2);
  });

  it('is forgotten by the records that were there before, and with the last one as a whole', async () => {
    await recorded('quay.io/app:1');
    const before = await pulled.recordNames('sha256:1');
    await recorded('quay.io/app:1', credential('a', 'h'));
    await pulled.forget('sha256:1', before);
    expect(await may('quay.io/app:1')).toBe(false);
    expect(await may('quay.io/app:1', credential('a', 'h'))).toBe(true);
    await pulled.forget('sha256:1', await pulled.recordNames('sha256:1'));
    expect(await pulled.lastUsedOf('sha256:1')).toBe(0);
  });

  it('may be used by none while its only record is replaced', async () => {
    await recorded('quay.io/app:1', credential('a', 'h'));
    const [before = ''] = await pulled.recordNames('sha256:1');
    const recordNames = pulled.recordNames.bind(pulled);
    let lists = 0;
    pulled.recordNames = async (id) => {
      const names = await recordNames(id);
      lists += 1;
      if (lists === 1) await new PulledImages(folder, 'other').record('sha256:1', RECORD);
      return names;
    };
    expect(await may('quay.io/app:1')).toBe(false);
    expect(await recordNames('sha256:1')).not.toContain(before);
  });

  it('is remembered as used only when this cluster has pulled it', async () => {
    await pulled.touch('sha256:1', 5000);
    expect(readdirSync(folder)).toEqual([]);
  });
});
