import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { KubeObject } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectLookup } from '../authz/object-lookup.ts';
import { jsonWebKeySet, openIdConfiguration, readSigningKeys, SigningKeyFolder } from './signing-keys.ts';
import { createServiceAccountAuthenticator } from './token-authenticator.ts';
import { createTokenIssuer } from './token-issuer.ts';

const ACCOUNT = { namespace: 'n', name: 'default', uid: 'u' };
const TEN_YEARS = 10 * 365 * 86_400;
const account: KubeObject = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', uid: 'u' } };
const lookup: ObjectLookup = {
  get: (resource) => (resource === 'serviceaccounts' ? account : undefined),
  podsOnNode: () => [],
  ingressesIn: () => [],
  hasExpired: () => true,
};

function createPair(): { readonly key: string; readonly pub: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    pub: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

describe('keys of service account tokens', () => {
  const [old, next] = [createPair(), createPair()];
  let folder: string;
  let clock: ManualClock;
  const opened: SigningKeyFolder[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-sa-'));
    clock = new ManualClock();
    await put(old.key, old.pub);
  });
  afterEach(async () => {
    for (const source of opened.splice(0)) source[Symbol.dispose]();
    await rm(folder, { recursive: true });
  });

  async function put(key: string, ...pubs: readonly string[]): Promise<void> {
    await writeFile(join(folder, 'sa.pub'), pubs.join(''));
    await writeFile(join(folder, 'sa.key'), key);
  }

  /** Creates the keys and the authenticator of one apiserver. */
  async function open() {
    const source = new SigningKeyFolder(folder, await readSigningKeys(folder), { clock, logger: silentLogger });
    opened.push(source);
    const authenticator = createServiceAccountAuthenticator(source, lookup, clock, { note: () => undefined });
    const issuer = createTokenIssuer(source, clock, () => 'jti');
    const issue = async (expirationSeconds = 3600) =>
      issuer.issue({ serviceAccount: ACCOUNT, audiences: [], expirationSeconds, boundObject: undefined });
    const knows = async (token: string) => (await authenticator.authenticate(token))?.name;
    return { source, issue, knows };
  }

  const USER = 'system:serviceaccount:n:default';

  it('are rotated with overlap: a new key is published, then signs, and tokens of both are accepted', async () => {
    const [one, other] = [await open(), await open()];
    const before = await one.issue();
    const first = one.source.current().signing.keyId;
    await put(next.key, next.pub, old.pub);
    await clock.advance(1000);
    await one.source.refresh();
    const published = async ({ source }: typeof one) =>
      (await jsonWebKeySet(source.current())).keys.map(({ kid }) => kid);
    expect(new Set(await published(one)).size).toBe(2);
    expect(one.source.current().signing.keyId).toBe(first);
    // The keys are read at intervals from then on.
    for (let seconds = 0; seconds < 30; seconds += 10) {
      await clock.advance(10_000);
      await Promise.all([one.source.refresh(), other.source.refresh()]);
    }
    const second = one.source.current().signing.keyId;
    expect(second).not.toBe(first);
    const after = await one.issue();
    for (const server of [one, other]) {
      expect(await server.knows(before.token)).toBe(USER);
      expect(await server.knows(after.token)).toBe(USER);
      expect(await published(server)).toEqual(expect.arrayContaining([first, second]));
    }
    expect(openIdConfiguration(one.source.current(), 'https://i')).toMatchObject({
      id_token_signing_alg_values_supported: ['ES256'],
    });
  });

  it('are read for a token of a key that another apiserver has read before', async () => {
    const server = await open();
    await put(next.key, next.pub, old.pub);
    await clock.advance(1000);
    const restarted = await open();
    expect(await server.knows((await restarted.issue()).token)).toBe(USER);
  });

  it('are followed by time, and one that is removed takes its tokens with it, verified before or not', async () => {
    const server = await open();
    const [seen, unseen] = [await server.issue(), await server.issue()];
    expect(await server.knows(seen.token)).toBe(USER);
    await put(next.key, next.pub);
    const read = server.source.current().signing.keyId;
    await clock.advance(10_000);
    await server.source.refresh();
    expect(server.source.current().signing.keyId).not.toBe(read);
    expect(await server.knows(seen.token)).toBeUndefined();
    expect(await server.knows(unseen.token)).toBeUndefined();
    expect(await server.knows((await server.issue()).token)).toBe(USER);
  });

  it('stay in use when the files cannot be read, and are not read for each token of an unknown key', async () => {
    const server = await open();
    const known = await server.issue();
    const foreign = await open();
    await put(next.key, next.pub);
    await clock.advance(1000);
    await foreign.source.refresh();
    const unknown = await foreign.issue();
    await writeFile(join(folder, 'sa.key'), 'broken');
    expect(await server.knows(unknown.token)).toBeUndefined();
    expect(await server.knows(known.token)).toBe(USER);
    await put(next.key, next.pub);
    // The keys were read less than a second ago, so they are not read again.
    expect(await server.knows(unknown.token)).toBeUndefined();
    await clock.advance(1000);
    expect(await server.knows(unknown.token)).toBe(USER);
  });

  it('sign tokens for ten years at most, as long as a key that signed is accepted', async () => {
    const server = await open();
    const { expirationTimestamp } = await server.issue(2 ** 32);
    expect(Date.parse(expirationTimestamp)).toBe(Math.floor(clock.now() / 1000) * 1000 + TEN_YEARS * 1000);
  });
});
