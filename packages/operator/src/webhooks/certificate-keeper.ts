import { type Clock, ControlLoop, errorMessage, must, type Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { Log } from '@gantry/controller-runtime';
import { isReason, type ObjectKey, type Secret, SECRETS } from '@gantry/objects';
import type { GroupMember } from '@gantry/service';
import {
  type CertificatePair,
  type Certificates,
  formatCertificates,
  parseCertificates,
  renewedCertificates,
} from './certificates.ts';

export interface CertificateKeeperOptions {
  readonly client: ObjectClient;
  /** Where the replicas share the certificates. */
  readonly secret: ObjectKey;
  /** The DNS names and addresses by which API servers call. */
  readonly hosts: readonly string[];
  /** Makes the API servers trust a bundle (PEM). Idempotent. */
  readonly publish: (bundle: string, signal: AbortSignal) => Promise<void>;
  /** Called with the certificate to serve, at the start and when it changes. */
  readonly onServe: (pair: CertificatePair) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How soon a change by another replica is seen, and configurations that were applied anew are trusted again. */
const INTERVAL_MS = 60_000;
const RETRY = { initialMs: 500, maxMs: 30_000 };

/**
 * Keeps the certificates of webhooks valid: makes, renews and publishes them. Each replica does it; a conditional write decides between them.
 */
export function certificateKeeper(options: CertificateKeeperOptions): GroupMember {
  const { clock, random, log, publish, onServe } = options;
  let served: string | undefined;
  let published: Certificates['bundle'] = [];
  const round = async (signal: AbortSignal): Promise<void> => {
    const { current, bundle } = await keepCertificates(options, published, signal);
    if (served !== current.certificate) {
      onServe(current);
      served = current.certificate;
      log.info({ secret: options.secret.name }, 'the certificate of the webhooks is served');
    }
    await publish(bundle.join(''), signal);
    published = bundle;
  };
  const onError = (error: unknown): void =>
    log.warn({ err: errorMessage(error) }, 'the certificate of the webhooks cannot be kept');
  const loop = new ControlLoop({
    name: 'webhook-certificates',
    round,
    intervalMs: INTERVAL_MS,
    retry: RETRY,
    random,
    onError,
    clock,
  });
  return { name: loop.name, run: loop.run };
}

/** The certificates in the Secret, after a renewal if one is due. */
async function keepCertificates(
  { client, secret: key, hosts, clock }: CertificateKeeperOptions,
  published: Certificates['bundle'],
  signal: AbortSignal,
): Promise<Certificates> {
  const stored = await client.get(SECRETS, key, signal).catch((error: unknown) => {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  });
  const observed = parseCertificates(stored?.data);
  const now = clock.now();
  const next = observed?.next?.certificate;
  const isPublished = next !== undefined && published.includes(next);
  const renewed = await renewedCertificates(observed, { hosts, now, isPublished });
  if (renewed === undefined) return must(observed, 'the certificates that need no renewal');
  const data = formatCertificates(renewed);
  const secret: Secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { ...key }, data };
  // A Conflict or AlreadyExists means that another replica was faster: the next round reads what it wrote.
  if (stored === undefined) await client.create(SECRETS, secret, signal);
  else await client.update(SECRETS, { ...stored, data }, signal);
  return renewed;
}
