import { createHash } from 'node:crypto';
import type { HostCertificate } from './proxy-state.ts';

/** A line of HAProxy's list takes 64 words and some kilobytes. */
const MAX_HOSTS = 16;
const MAX_LENGTH = 1500;

/**
 * PEM by host as lines of HAProxy's list, by the names of their files. The hosts of a certificate share its memory in HAProxy, as far as
 * they fit a line. A name is made of the content: a certificate that changes is another one.
 */
export function certificateGroups(certificates: ReadonlyMap<string, string>): ReadonlyMap<string, HostCertificate> {
  const byPem = new Map<string, string[][]>();
  for (const [host, pem] of certificates) {
    const groups = byPem.get(pem) ?? [];
    byPem.set(pem, groups);
    const last = groups.at(-1);
    const hasRoom = last !== undefined && last.length < MAX_HOSTS && last.join(' ').length + host.length < MAX_LENGTH;
    if (hasRoom) last.push(host);
    else groups.push([host]);
  }
  const entries = [...byPem].flatMap(([pem, groups]) => groups.map((hosts): HostCertificate => ({ hosts, pem })));
  return new Map(entries.map((entry) => [`certificate-${digestOf(entry)}`, entry]));
}

function digestOf({ hosts, pem }: HostCertificate): string {
  return createHash('sha256')
    .update(`${hosts.join(' ')}\n${pem}`)
    .digest('hex');
}
