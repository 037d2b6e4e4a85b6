import { join } from 'node:path';
import { type Clock, formatTime, type Random } from '@gantry/base';
import {
  createAuthority,
  createTokenKeys,
  inspectCertificate,
  isNearItsEnd,
  isPairOf,
  issueCertificate,
  type KeyPair,
  renewAuthority,
} from './certificates.ts';
import { ensureOwner, type Folder, openFolder } from './folder.ts';
import { planCertificates } from './plan.ts';
import { type AuthorityName, ETCD_UID, fixedRoles, INGRESS_UID, type Role, ROOT_UID, SERVICE_UID } from './roles.ts';
import { ensureSealingKey } from './sealing-keys.ts';
import { planTokenKeys, type TokenKey, type TokenKeyOrder } from './token-keys.ts';

export interface OneShotOptions {
  /** Contains one folder per role. */
  readonly root: string;
  /** Contains one data folder per etcd member, those of the audit log and of snapshots, and that of the ingress controller. */
  readonly dataRoot: string;
  readonly etcdMembers: readonly string[];
  readonly serviceCidr: string;
  /** What happens to the keys of service account tokens. */
  readonly tokenKeys: TokenKeyOrder;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (line: string) => void;
}

const TOKEN_LIFE_MS = 24 * 3_600_000;
/** Public keys of service account tokens with their times, newest first. */
const RING = 'keys.json';
const TOKEN_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Creates or renews the authorities, the certificates of the fixed services, the key of service account tokens and the bootstrap token, and
 * gives etcd, the API servers and the ingress controller their data folders. Idempotent; the next run completes an interrupted one.
 */
export async function runOneShot(options: OneShotOptions): Promise<void> {
  const folder = (name: string, uid: number) => openFolder(join(options.root, name), { uid, gid: uid });
  const authorities: Readonly<Record<AuthorityName, KeyPair>> = {
    cluster: await ensureAuthority(await folder('ca', SERVICE_UID), 'gantry-ca', options),
    nodes: await ensureAuthority(await folder('node-ca', SERVICE_UID), 'gantry-node-ca', options),
    etcd: await ensureAuthority(await folder('etcd-ca', ROOT_UID), 'gantry-etcd-ca', options),
    'front-proxy': await ensureAuthority(await folder('front-proxy-ca', ROOT_UID), 'gantry-front-proxy-ca', options),
  };
  await ensureTokenKeys(await folder('sa', SERVICE_UID), options);
  await ensureSealingKey(await folder('sealing', SERVICE_UID), options.report);
  await ensureBootstrapToken(await folder('bootstrap', SERVICE_UID), authorities.cluster, options);
  for (const name of ['load-balancer', 'console'])
    await writeIfChanged(await folder(name, ROOT_UID), 'ca.crt', authorities.cluster.certificate);

  for (const member of options.etcdMembers) {
    await ensureOwner(join(options.dataRoot, member), { uid: ETCD_UID, gid: ETCD_UID });
  }
  for (const name of ['audit', 'snapshots']) {
    await ensureOwner(join(options.dataRoot, name), { uid: SERVICE_UID, gid: SERVICE_UID });
  }
  await ensureOwner(join(options.dataRoot, 'ingress'), { uid: INGRESS_UID, gid: INGRESS_UID });
  const roles = fixedRoles(options);
  const folders = new Map<Role, Folder>();
  for (const role of roles) folders.set(role, await folder(role.folder, role.owner));
  const found = new Map(
    await Promise.all(
      [...folders].map(async ([role, at]) => {
        const [certificate, key] = [await at.read('tls.crt'), await at.read('tls.key')];
        const missing = certificate === undefined || key === undefined;
        const state = missing
          ? { state: 'missing' as const }
          : inspectCertificate(authorities[role.authority].certificate, certificate, key);
        return [role.folder, state] as const;
      }),
    ),
  );
  for (const { role, why } of planCertificates(roles, found, options.clock.now())) {
    const at = folders.get(role);
    if (at === undefined) continue;
    const pair = await issueCertificate(authorities[role.authority], role.certificate, options.clock.now());
    await at.write('ca.crt', authorities[role.trusts].certificate, 'public');
    await at.write('tls.key', pair.key, 'secret');
    await at.write('tls.crt', pair.certificate, 'public');
    options.report(`certificate for ${role.folder} (${role.certificate.commonName}): ${why}`);
  }
  for (const [role, at] of folders) await writeIfChanged(at, 'ca.crt', authorities[role.trusts].certificate);
}

/** Creates an authority, or renews its certificate for the same key: certificates that it has issued stay valid. */
async function ensureAuthority(folder: Folder, name: string, { clock, report }: OneShotOptions): Promise<KeyPair> {
  const [certificate, key] = [await folder.read('ca.crt'), await folder.read('ca.key')];
  if (certificate !== undefined && key !== undefined) {
    if (!isNearItsEnd(certificate, clock.now())) return { certificate, key };
    const renewed = await renewAuthority({ certificate, key }, clock.now());
    await folder.write('ca.crt', renewed.certificate, 'public');
    report(`certificate authority ${name} renewed`);
    return renewed;
  }
  const made = await createAuthority(name, clock.now());
  await folder.write('ca.key', made.key, 'secret');
  await folder.write('ca.crt', made.certificate, 'public');
  report(`certificate authority ${name} made`);
  return made;
}

async function writeIfChanged(folder: Folder, file: string, text: string): Promise<void> {
  if ((await folder.read(file)) !== text) await folder.write(file, text, 'public');
}

/** Makes the first key of service account tokens, and a new one when it is due or asked for. Earlier ones go on verifying. */
async function ensureTokenKeys(folder: Folder, { clock, tokenKeys, report }: OneShotOptions): Promise<void> {
  const found = await readTokenKeys(folder);
  const now = clock.now();
  const { rotate, keep } = planTokenKeys(found, tokenKeys, now);
  if (!rotate) {
    if (keep.length === found.length) return;
    await writeRing(folder, keep);
    report(`${found.length - keep.length} expired keys of service account tokens removed`);
    return;
  }
  const made = await createTokenKeys();
  const ring = [
    { publicKey: made.publicKey, madeAt: now },
    ...keep.map((key) => ({ ...key, retiredAt: key.retiredAt ?? now })),
  ];
  // The public key first: the apiservers verify with it before one of them signs with the private one.
  await writeRing(folder, ring);
  await folder.write('sa.key', made.privateKey, 'secret');
  report(found.length === 0 ? 'key of service account tokens made' : 'key of service account tokens rotated');
}

async function readTokenKeys(folder: Folder): Promise<readonly TokenKey[]> {
  const [key, publicKeys, ring] = [await folder.read('sa.key'), await folder.read('sa.pub'), await folder.read(RING)];
  if (key === undefined || publicKeys === undefined) return [];
  if (ring !== undefined) {
    const keys = JSON.parse(ring) as readonly TokenKey[];
    // An interrupted run has written the ring and not the key: none of the ring counts as signing, and the next key is made.
    return keys.map((one) => (isPairOf(key, one.publicKey) ? one : { ...one, retiredAt: one.retiredAt ?? one.madeAt }));
  }
  // A cluster from before there was a ring: the age of its only key is not known.
  return [{ publicKey: publicKeys, madeAt: 0 }];
}

async function writeRing(folder: Folder, ring: readonly TokenKey[]): Promise<void> {
  await folder.write('sa.pub', ring.map(({ publicKey }) => `${publicKey.trim()}\n`).join(''), 'public');
  await folder.write(RING, `${JSON.stringify(ring)}\n`, 'public');
}

/**
 * The token is valid for a day after `made-at`, which apiservers check; a later run replaces it. Agents that have a certificate do not
 * need it. The token is written first: one with an earlier time is invalid, never the reverse.
 */
async function ensureBootstrapToken(folder: Folder, authority: KeyPair, options: OneShotOptions): Promise<void> {
  await writeIfChanged(folder, 'ca.crt', authority.certificate);
  const madeAt = Date.parse(((await folder.read('made-at')) ?? '').trim());
  const age = options.clock.now() - madeAt;
  // Replaced at half its life: agents that start later have time for their request.
  if ((await folder.read('token')) !== undefined && age >= 0 && age < TOKEN_LIFE_MS / 2) return;
  const letters = (length: number) =>
    Array.from({ length }, () => TOKEN_ALPHABET[Math.floor(options.random() * TOKEN_ALPHABET.length)]).join('');
  await folder.write('token', `${letters(6)}.${letters(16)}\n`, 'secret');
  await folder.write('made-at', `${formatTime(options.clock.now())}\n`, 'public');
  options.report('bootstrap token made');
}
