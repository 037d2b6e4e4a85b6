import { generateKeyPairSync } from 'node:crypto';
import { formatTime } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { KubeObject } from '@gantry/objects';
import { SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LookupResource } from '../authz/object-lookup.ts';
import { ISSUER, serviceAccountUser } from './service-account-claims.ts';
import { createSigningKeys, fixedSigningKeys, type SigningKeys } from './signing-keys.ts';
import { createServiceAccountAuthenticator, type TokenAuthenticator } from './token-authenticator.ts';
import { type BoundObject, createTokenIssuer } from './token-issuer.ts';

const HOUR = 3600;
const ACCOUNT = { namespace: 'n', name: 'a', uid: 'uid-a' };

function newKeys(modulusLength = 2048): SigningKeys {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength });
  return createSigningKeys(privateKey.export({ type: 'pkcs8', format: 'pem' }));
}

describe('the authenticator of service account tokens', () => {
  const keys = newKeys();
  let clock: ManualClock;
  let objects: Map<string, string>;
  let tokens: TokenAuthenticator;
  let accepted: SigningKeys;
  /** The deletion time of all objects. */
  let deletionTimestamp: string | undefined;
  let more: Partial<Record<LookupResource, object>>;
  let used: string[];
  beforeEach(() => {
    clock = new ManualClock();
    accepted = keys;
    deletionTimestamp = undefined;
    more = {};
    used = [];
    objects = new Map([
      ['serviceaccounts/n/a', 'uid-a'],
      ['pods/n/p', 'uid-p'],
      ['secrets/n/s', 'uid-s'],
      ['nodes//w', 'uid-w'],
    ]);
    const lookup = {
      get: (resource: LookupResource, namespace: string, name: string): KubeObject | undefined => {
        const uid = objects.get(`${resource}/${namespace}/${name}`);
        const metadata = { name, uid, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
        return uid === undefined ? undefined : { apiVersion: 'v1', kind: 'Any', metadata, ...more[resource] };
      },
      podsOnNode: () => [],
      ingressesIn: () => [],
      hasExpired: () => false,
    };
    tokens = createServiceAccountAuthenticator(
      { current: () => accepted, refresh: () => Promise.resolve() },
      lookup,
      clock,
      { note: ({ kind }) => used.push(kind) },
    );
  });

  const issue = async (boundObject?: BoundObject, audiences: readonly string[] = [], of = keys) => {
    const request = { serviceAccount: ACCOUNT, audiences, expirationSeconds: HOUR, boundObject };
    return (await createTokenIssuer(fixedSigningKeys(of), clock, () => 'id').issue(request)).token;
  };
  const isAccepted = async (token: string, audiences?: readonly string[]) =>
    (await tokens.authenticate(token, audiences)) !== undefined;

  it('knows the account of a token', async () => {
    expect(await tokens.authenticate(await issue())).toMatchObject({
      name: 'system:serviceaccount:n:a',
      uid: 'uid-a',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:n', 'system:authenticated'],
    });
  });

  it('accepts a token only within its time, also one that it has verified before', async () => {
    const token = await issue();
    expect(await isAccepted(token)).toBe(true);
    await clock.advance(HOUR * 1000 - 1);
    expect(await isAccepted(token)).toBe(true);
    await clock.advance(1);
    expect(await isAccepted(token)).toBe(false);
  });

  it('accepts a token only while its key is accepted, also one that it has verified before', async () => {
    const token = await issue();
    expect(await isAccepted(token)).toBe(true);
    accepted = newKeys();
    expect(await isAccepted(token)).toBe(false);
  });

  it('accepts a token only for its audiences', async () => {
    const token = await issue(undefined, ['vault']);
    expect(await isAccepted(token)).toBe(false);
    expect(await isAccepted(token, ['vault'])).toBe(true);
    expect(await isAccepted(await issue(), ['vault'])).toBe(false);
  });

  it.each([
    ['its account', 'serviceaccounts/n/a', undefined],
    ['its pod', 'pods/n/p', { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p' }],
    ['its secret', 'secrets/n/s', { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'uid-s' }],
    ['its node', 'nodes//w', { apiVersion: 'v1', kind: 'Node', name: 'w', uid: 'uid-w' }],
  ])('accepts a token only while %s exists', async (_what, key, bound) => {
    const token = await issue(bound);
    expect(await isAccepted(token)).toBe(true);
    deletionTimestamp = formatTime(clock.now() - 60_000);
    expect(await isAccepted(token)).toBe(true);
    deletionTimestamp = formatTime(clock.now() - 61_000);
    expect(await isAccepted(token)).toBe(false);
    deletionTimestamp = undefined;
    objects.set(key, 'created again');
    expect(await isAccepted(token)).toBe(false);
    objects.delete(key);
    expect(await isAccepted(token)).toBe(false);
  });

  it('notes the use of a token that stands in its Secret, and refuses it when that is marked as invalid', async () => {
    const token = await issue({ apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'uid-s' });
    const notices: unknown[] = [];
    const authenticate = () => tokens.authenticate(token, undefined, (notice) => notices.push(notice));
    expect(await authenticate()).toBeDefined();
    expect([used, notices]).toEqual([[], []]);
    const type = 'kubernetes.io/service-account-token';
    const secret = { type, data: { token: Buffer.from(token).toString('base64') } };
    more = { secrets: secret, serviceaccounts: { secrets: [{ name: 's' }] } };
    expect(await authenticate()).toBeDefined();
    const labels = { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' };
    more = { secrets: { ...secret, metadata: { namespace: 'n', name: 's', uid: 'uid-s', labels } } };
    expect(await authenticate()).toBeUndefined();
    expect(used).toEqual(['generated', 'invalidated']);
    const annotations = ['autogenerated-secret', 'invalidated'].map(
      (what) => `authentication.k8s.io/legacy-token-${what}`,
    );
    expect(notices).toMatchObject([
      { annotation: [annotations[0], 's'], warning: expect.stringContaining('TokenRequest API') as unknown },
      { annotation: [annotations[1], 's/n'] },
    ]);
  });

  const sign = async (change: (jwt: SignJWT) => SignJWT, of: SigningKeys, alg: string) => {
    const seconds = clock.now() / 1000;
    const claim = { namespace: 'n', serviceaccount: { name: 'a', uid: 'uid-a' } };
    const jwt = new SignJWT({ 'kubernetes.io': claim })
      .setProtectedHeader({ alg, kid: of.signing.keyId })
      .setIssuer(ISSUER)
      .setSubject(serviceAccountUser('n', 'a'))
      .setAudience(ISSUER)
      .setNotBefore(seconds)
      .setExpirationTime(seconds + HOUR);
    return change(jwt).sign(of.privateKey);
  };
  const forge = (change: (jwt: SignJWT) => SignJWT, of = keys, alg = keys.signing.algorithm as string) =>
    sign(change, of, alg);

  it('accepts no token of another key, issuer, subject or algorithm, or from the future', async () => {
    expect(await isAccepted(await forge((jwt) => jwt))).toBe(true);
    expect(await isAccepted(await forge((jwt) => jwt, newKeys()))).toBe(false);
    expect(await isAccepted(await forge((jwt) => jwt.setIssuer('https://elsewhere')))).toBe(false);
    expect(await isAccepted(await forge((jwt) => jwt.setSubject(serviceAccountUser('n', 'other'))))).toBe(false);
    expect(await isAccepted(await forge((jwt) => jwt, keys, 'PS256'))).toBe(false);
    expect(await isAccepted(await forge((jwt) => jwt.setNotBefore(clock.now() / 1000 + 60)))).toBe(false);
  });

  it('takes anything else for no token of its own', async () => {
    for (const text of ['', 'x', 'a.b.c', `${await issue()}x`]) expect(await isAccepted(text), text).toBe(false);
  });
});
