import { join } from 'node:path';
import { type Clock, formatTime, type Random } from '@gantry/base';
import {
  createAuthority,
  createTokenKeys,
  inspectCertificate,
  issueCertificate,
  type KeyPair,
} from './certificates.ts';
import { ensureOwner, type Folder, openFolder } from './folder.ts';
import { planCertificates } from './plan.ts';
import { ETCD_UID, fixedRoles, type Role, ROOT_UID, SERVICE_UID } from './roles.ts';

export interface OneShotOptions {
  /** Contains one folder per role. */
  readonly root: string;
  /** Contains one data folder per etcd member, and that of the audit log. */
  readonly dataRoot: string;
  readonly etcdMembers: readonly string[];
  readonly serviceCidr: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (line: string) => void;
}

const TOKEN_LIFE_MS = 24 * 3_600_000;
const TOKEN_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Creates or renews the authorities, the certificates of the fixed services, the key of service account tokens and the
 * bootstrap token, and gives etcd and the API servers their data folders. Idempotent; the next run completes an interrupted one.
 */
export async function runOneShot(options: OneShotOptions): Promise<void> {
  const folder = (name: string, uid: number) => openFolder(join(options.root, name), { uid, gid: uid });
  const authority = await ensureAuthority(await folder('ca', SERVICE_UID), 'gantry-ca', options);
  // A separate authority: holders of a cluster certificate must not be able to impersonate users to extension servers.
  const frontProxy = await ensureAuthority(await folder('front-proxy-ca', ROOT_UID), 'gantry-front-proxy-ca', options);
  const authorityOf = (role: Role): KeyPair => (role.authority === 'front-proxy' ? frontProxy : authority);
  await ensureTokenKeys(await folder('sa', SERVICE_UID), options);
  await ensureBootstrapToken(await folder('bootstrap', SERVICE_UID), authority, options);
  await (await folder('load-balancer', 0)).write('ca.crt', authority.certificate, 'public');

  for (const member of options.etcdMembers) {
    await ensureOwner(join(options.dataRoot, member), { uid: ETCD_UID, gid: ETCD_UID });
  }
  await ensureOwner(join(options.dataRoot, 'audit'), { uid: SERVICE_UID, gid: SERVICE_UID });
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
          : inspectCertificate(authorityOf(role).certificate, certificate, key);
        return [role.folder, state] as const;
      }),
    ),
  );
  for (const { role, why } of planCertificates(roles, found, options.clock.now())) {
    const at = folders.get(role);
    if (at === undefined) continue;
    const pair = await issueCertificate(authorityOf(role), role.certificate, options.clock.now());
    await at.write('ca.crt', authorityOf(role).certificate, 'public');
    await at.write('tls.key', pair.key, 'secret');
    await at.write('tls.crt', pair.certificate, 'public');
    options.report(`certificate for ${role.folder} (${role.certificate.commonName}): ${why}`);
  }
}

async function ensureAuthority(folder: Folder, name: string, { clock, report }: OneShotOptions): Promise<KeyPair> {
  const [certificate, key] = [await folder.read('ca.crt'), await folder.read('ca.key')];
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const made = await createAuthority(name, clock.now());
  await folder.write('ca.key', made.key, 'secret');
  await folder.write('ca.crt', made.certificate, 'public');
  report(`certificate authority ${name} made`);
  return made;
}

async function ensureTokenKeys(folder: Folder, { report }: OneShotOptions): Promise<void> {
  if ((await folder.read('sa.key')) !== undefined && (await folder.read('sa.pub')) !== undefined) return;
  const keys = await createTokenKeys();
  await folder.write('sa.key', keys.privateKey, 'secret');
  await folder.write('sa.pub', keys.publicKey, 'public');
  report('key of service account tokens made');
}

/** The token is valid for a day; a later run replaces it. Agents that have a certificate do not need it. */
async function ensureBootstrapToken(folder: Folder, authority: KeyPair, options: OneShotOptions): Promise<void> {
  await folder.write('ca.crt', authority.certificate, 'public');
  const madeAt = Date.parse(((await folder.read('made-at')) ?? '').trim());
  const age = options.clock.now() - madeAt;
  if ((await folder.read('token')) !== undefined && age >= 0 && age < TOKEN_LIFE_MS) return;
  const letters = (length: number) =>
    Array.from({ length }, () => TOKEN_ALPHABET[Math.floor(options.random() * TOKEN_ALPHABET.length)]).join('');
  await folder.write('token', `${letters(6)}.${letters(16)}\n`, 'secret');
  await folder.write('made-at', `${formatTime(options.clock.now())}\n`, 'public');
  options.report('bootstrap token made');
}
