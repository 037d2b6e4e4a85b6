import { X509Certificate } from 'node:crypto';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { createRenewalRequest, generateKey, type TlsMaterial, type TlsSource } from '@gantry/tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestPki, type TestPki } from '../testing/test-pki.ts';
import { AddressedTls } from './addressed-tls.ts';

const ADDRESS = '10.128.0.9';
const DAY_MS = 86_400_000;

let pki: TestPki;
let clock: ManualClock;
let folder: TlsSource & { replace(material: TlsMaterial): void };
let requests: string[];
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  clock = new ManualClock(Date.now());
  pki = await createTestPki(clock.now());
  folder = tlsFolder(await pki.issue('system:apiserver', ['gantry:apiservers'], ['apiserver']));
  requests = [];
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
});

function tlsFolder(first: TlsMaterial): typeof folder {
  let material = first;
  const listeners = new Set<(material: TlsMaterial) => void>();
  return {
    current: () => material,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    replace: (next) => {
      material = next;
      for (const listener of listeners) listener(next);
    },
  };
}

/** Runs the loop. Resolves with each certificate that the server gets. */
function start(tls: AddressedTls): () => Promise<X509Certificate> {
  let next = Promise.withResolvers<X509Certificate>();
  tls.subscribe(({ cert }) => next.resolve(new X509Certificate(cert)));
  const member = tls.member({
    requestCertificate: (request) => (requests.push(request), pki.sign(request, clock.now())),
    whenReady: () => Promise.resolve(),
    clock,
    logger: silentLogger,
  });
  running = member.run(stop.signal);
  return async () => {
    const got = await next.promise;
    next = Promise.withResolvers();
    return got;
  };
}

it('gets a certificate with the names of the folder and the own address, and another one before its end', async () => {
  using tls = new AddressedTls(folder, ADDRESS);
  expect(tls.current()).toEqual(folder.current());
  const next = start(tls);
  const first = await next();
  expect([first.checkIP(ADDRESS), first.checkIP('127.0.0.1')]).toEqual([ADDRESS, '127.0.0.1']);
  expect([first.checkHost('apiserver'), first.subject]).toEqual([
    'apiserver',
    'O=gantry:apiservers\nCN=system:apiserver',
  ]);
  expect(tls.current().ca).toEqual(folder.current().ca);
  for (let hour = 0; hour < 24 * 5; hour++) await clock.advance(DAY_MS / 24);
  expect((await next()).fingerprint256).not.toBe(first.fingerprint256);
  expect(requests).toHaveLength(2);
});

it('requests none while the certificate of the folder has the address', async () => {
  folder.replace({ ...folder.current(), cert: Buffer.from(await signedWithAddress()) });
  using tls = new AddressedTls(folder, ADDRESS);
  start(tls);
  await clock.advance(DAY_MS);
  expect(requests).toEqual([]);
});

it('does not use a certificate of an authority that has been replaced', async () => {
  using tls = new AddressedTls(folder, ADDRESS);
  const next = start(tls);
  await next();
  pki = await createTestPki(clock.now());
  folder.replace(await pki.issue('system:apiserver', ['gantry:apiservers'], ['apiserver']));
  expect((await next()).checkIP(ADDRESS)).toBeUndefined();
  expect((await next()).checkIP(ADDRESS)).toBe(ADDRESS);
  expect(tls.current().ca.toString()).toBe(pki.ca);
});

async function signedWithAddress(): Promise<string> {
  const { request } = await createRenewalRequest(folder.current().cert.toString(), await generateKey(), [ADDRESS]);
  return await pki.sign(request);
}
