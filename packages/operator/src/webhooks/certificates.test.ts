import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Certificates, formatCertificates, parseCertificates, renewedCertificates } from './certificates.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const hosts = ['hooks.a.svc', '10.0.0.1'];

const at = (observed: Certificates | undefined, now: number, isPublished = true): Promise<Certificates | undefined> =>
  renewedCertificates(observed, { hosts, now, isPublished });

async function first(): Promise<Certificates> {
  const made = await at(undefined, START);
  if (made === undefined) throw new TypeError('no certificate was made');
  return made;
}

describe('the certificates of webhooks', () => {
  it('are made for the hosts, and are their own authority', async () => {
    const { current, next, bundle } = await first();
    const certificate = new X509Certificate(current.certificate);
    expect(certificate.checkHost('hooks.a.svc')).toBe('hooks.a.svc');
    expect(certificate.checkIP('10.0.0.1')).toBe('10.0.0.1');
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect([next, bundle]).toEqual([undefined, [current.certificate]]);
  });

  it('stay for two thirds of their life', async () => {
    expect(await at(await first(), START + 59 * DAY_MS)).toBeUndefined();
  });

  it('are trusted for an hour before they are served, and until they end', async () => {
    const made = await first();
    const renewAt = START + 60 * DAY_MS;
    const prepared = await at(made, renewAt);
    const next = prepared?.next;
    expect(prepared?.current).toEqual(made.current);
    expect(prepared?.bundle).toEqual([made.current.certificate, next?.certificate]);
    expect(await at(prepared, renewAt + HOUR_MS - 1000)).toBeUndefined();
    const served = await at(prepared, renewAt + HOUR_MS);
    expect(served).toEqual({ current: next, bundle: prepared?.bundle });
    const again = await at(served, renewAt + 60 * DAY_MS);
    expect(again?.bundle).toEqual([next?.certificate, again?.next?.certificate]);
  });

  it('are not served before this process has published them', async () => {
    const prepared = await at(await first(), START + 60 * DAY_MS);
    expect(await at(prepared, START + 70 * DAY_MS, false)).toBeUndefined();
  });

  it('are made anew when they have ended, or are for other hosts', async () => {
    const made = await first();
    const anew = await at(made, START + 91 * DAY_MS);
    expect(anew?.current.certificate).not.toBe(made.current.certificate);
    expect(anew?.bundle).toEqual([anew?.current.certificate]);
    const moved = await renewedCertificates(made, { hosts: ['hooks.b.svc'], now: START, isPublished: true });
    expect(moved?.bundle).toEqual([moved?.current.certificate, made.current.certificate]);
  });

  it('are read from the Secret as they were written, and not at all when it has something else', async () => {
    const prepared = await at(await first(), START + 60 * DAY_MS);
    const data = formatCertificates(prepared ?? (await first()));
    expect(parseCertificates(data)).toEqual(prepared);
    expect(parseCertificates({ ...data, 'tls.crt': 'bm9uc2Vuc2U=' })).toBeUndefined();
    expect(parseCertificates(undefined)).toBeUndefined();
  });
});
