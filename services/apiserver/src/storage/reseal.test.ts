import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyValueStore } from '@gantry/etcd';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sealedWith } from './envelope.ts';
import { createMemoryObjectStore } from './testing/memory-store.ts';
import { reseal } from './reseal.ts';
import { addSealingKey, forgetOldSealingKeys, KEY_FILE, openSealingKeys } from './sealing-key-file.ts';
import { createSealing, type SealingKeys } from './sealing.ts';
import { committed, create, pod, update } from './testing/store-calls.ts';

const signal = (): AbortSignal => AbortSignal.timeout(30_000);
const secret = (name: string): string => `/registry/secrets/ns/${name}`;

describe('the sealing keys of a folder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-keys-'));
    await writeKeys({ id: 'first', secret: Buffer.alloc(32, 1).toString('base64') });
  });
  afterEach(() => rm(folder, { recursive: true }));
  const writeKeys = (...keys: readonly unknown[]) => writeFile(join(folder, KEY_FILE), JSON.stringify({ keys }));

  it('are used as soon as they are added, for writing and for reading', async () => {
    const [writer, reader] = [openSealingKeys(folder), openSealingKeys(folder)];
    expect(writer.current().id).toBe('first');
    const added = await addSealingKey(folder);
    expect(reader.find(added)?.secret).toHaveLength(32);
    expect(writer.current().id).toBe(added);
    expect(writer.find('first')?.secret).toEqual(Buffer.alloc(32, 1));
    expect(writer.find('unknown')).toBeUndefined();
    expect((await readFile(join(folder, KEY_FILE), 'utf8')).endsWith('\n')).toBe(true);
  });

  it('say what is wrong with their file, and never what is in it', async () => {
    const valid = Buffer.alloc(32, 1).toString('base64');
    const cases: readonly [unknown, RegExp][] = [
      [{ keys: [] }, /keys is empty/],
      [{}, /keys is empty/],
      [{ keys: [{ id: 'short', secret: 'c2hvcnQ=' }] }, /keys\[0\] needs an id, and a secret of 32 bytes in base64/],
      [
        {
          keys: [
            { id: 'a', secret: valid },
            { id: '', secret: valid },
          ],
        },
        /keys\[1\] needs an id/,
      ],
    ];
    for (const [content, why] of cases) {
      await writeFile(join(folder, KEY_FILE), JSON.stringify(content));
      expect(() => openSealingKeys(folder)).toThrow(why);
    }
    await writeFile(join(folder, KEY_FILE), `{"keys": [{"secret": "${valid}"`);
    expect(() => openSealingKeys(folder)).toThrow(/is not JSON$/);
  });

  it('fail as the store does when their file is lost, and are found again', async () => {
    const keys = openSealingKeys(folder);
    await rm(join(folder, KEY_FILE));
    expect(() => keys.current()).toThrow('unavailable: the sealing keys cannot be read');
    expect(keys.find('first')).toBeDefined();
    await writeKeys({ id: 'second', secret: Buffer.alloc(32, 2).toString('base64') });
    expect(keys.current().id).toBe('second');
  });

  describe('with objects that they have sealed', () => {
    let etcd: MemoryEtcd;
    beforeEach(() => {
      etcd = new MemoryEtcd();
    });
    const cluster = (keys: SealingKeys, resources: readonly string[] = ['secrets']) => {
      const sealing = createSealing(keys, resources);
      return { etcd: { kv: etcd as KeyValueStore }, sealing, store: createMemoryObjectStore({ etcd, sealing }) };
    };
    const keyOf = async (key: string) => {
      const { kvs } = await etcd.range({ key }, { signal: signal() });
      return sealedWith(kvs[0]?.value ?? new Uint8Array());
    };

    it('rotate: everything is sealed with the new key, and the old one can be forgotten', async () => {
      const keys = openSealingKeys(folder);
      const plain = cluster(keys, []);
      await committed(plain.store.write(create(secret('plain'), { text: 'from before' }), signal()));
      const before = cluster(keys);
      for (let i = 0; i < 600; i++) {
        await committed(before.store.write(create(secret(`s${i}`), { num: i }), signal()));
      }
      await committed(before.store.write(create(pod('a')), signal()));
      const added = await addSealingKey(folder);
      expect(await reseal(before, signal())).toEqual({ rewritten: 601, kept: 1 });
      expect(await reseal(before, signal())).toEqual({ rewritten: 0, kept: 602 });
      for (const name of ['plain', 's0', 's599']) expect(await keyOf(secret(name))).toBe(added);
      expect(await keyOf(pod('a'))).toBeUndefined();
      expect(await forgetOldSealingKeys(folder)).toEqual(['first']);
      const after = cluster(openSealingKeys(folder));
      expect((await after.store.get(secret('plain'), signal()))?.object['text']).toBe('from before');
      expect((await after.store.list('/registry/secrets/', {}, signal())).objects).toHaveLength(601);
    });

    it('rotate while others write: nothing that was written meanwhile is lost', async () => {
      const { store, ...parts } = cluster(openSealingKeys(folder));
      const first = await committed(store.write(create(secret('a'), { text: 'old' }), signal()));
      await addSealingKey(folder);
      const stale = createSealing(
        { ...openSealingKeys(folder), current: () => ({ id: 'first', secret: Buffer.alloc(32, 1) }) },
        ['secrets'],
      );
      const lagging = createMemoryObjectStore({ etcd, sealing: stale });
      let writes = 0;
      const racing: typeof parts.etcd = {
        kv: {
          transact: (...args) => etcd.transact(...args),
          range: async (request, options) => {
            const page = await etcd.range(request, options);
            if (++writes === 1) await committed(lagging.write(update(secret('a'), first, { text: 'new' }), signal()));
            return page;
          },
        },
      };
      expect(await reseal({ ...parts, etcd: racing, store }, signal())).toEqual({ rewritten: 1, kept: 0 });
      expect((await store.get(secret('a'), signal()))?.object['text']).toBe('new');
      expect(await keyOf(secret('a'))).not.toBe('first');
    });

    it('are not needed any more for a kind that is to be stored in plain text', async () => {
      const keys = openSealingKeys(folder);
      const sealed = cluster(keys);
      await committed(sealed.store.write(create(secret('a'), { text: 'x' }), signal()));
      expect(await reseal(cluster(keys, []), signal())).toEqual({ rewritten: 1, kept: 0 });
      expect(await keyOf(secret('a'))).toBeUndefined();
    });
  });
});
