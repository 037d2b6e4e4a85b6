import { isIPv6 } from 'node:net';
import { AgentError } from '../runtime/agent-error.ts';
import type { NfsSource } from '../runtime/host-mounts.ts';

/** The order of versions that mount.nfs(8) tries without a version option. The kernel alone would use version 3. */
const VERSIONS = ['4.2', '4.1', '4.0', '3'] as const;
const NAMES_VERSION = /^(?:(?:nfs)?vers=|minorversion=|v[234](?:\.\d)?$)/;
const IS_OLD = /^(?:(?:nfs)?vers=3|v3)$/;
const NAMES_LOCKS = /^(?:lock|nolock|local_lock=.*)$/;
const SERVER = /^[A-Za-z0-9_][A-Za-z0-9._:%-]*$/;

/** One call of mount(8). */
export interface NfsAttempt {
  readonly title: string;
  readonly args: readonly string[];
}

/**
 * The calls of mount(8) that mount a folder of an NFS server at `target`, in the order in which to try them, newest version first. The
 * agent's image has no mount.nfs(8), so the options that it would add are added here, above all the server's address, since the kernel
 * does not resolve names. AgentError 'FailedMount' for a server or path that mount(8) could misinterpret.
 */
export function nfsAttempts(source: NfsSource, address: string, target: string): readonly NfsAttempt[] {
  const { server, path } = source;
  if (!SERVER.test(server)) throw new AgentError('FailedMount', `${JSON.stringify(server)} is not a name of a server`);
  if (!path.startsWith('/') || path.includes('\0'))
    throw new AgentError('FailedMount', `${JSON.stringify(path)} is not an absolute path`);
  const options = source.options.flatMap((option) => option.split(',')).filter((option) => option !== '');
  const own = source.access === 'read-only' ? [...options, 'ro'] : options;
  // Without --rw, mount(8) takes a refusal for a write-protected disk and retries read-only.
  const writes = own.includes('ro') ? [] : ['--rw'];
  const device = `${isIPv6(server) ? `[${server}]` : server}:${path}`;
  const attempt = (title: string, more: readonly string[], isOld: boolean): NfsAttempt => {
    // Remote locks of version 3 need rpc.statd on the host. With `nolock`, locks only work among the pods of this host.
    const locks = isOld && !own.some((option) => NAMES_LOCKS.test(option)) ? ['nolock'] : [];
    const all = [...own, ...more, ...locks, `addr=${address}`].join(',');
    return {
      title,
      args: [...writes, '--no-canonicalize', '--internal-only', '-t', 'nfs', '-o', all, '--', device, target],
    };
  };
  const named = own.find((option) => NAMES_VERSION.test(option));
  if (named !== undefined)
    return [
      attempt(
        named,
        [],
        own.some((option) => IS_OLD.test(option)),
      ),
    ];
  return VERSIONS.map((version) => attempt(`vers=${version}`, [`vers=${version}`], version === '3'));
}

/** mount(8) describes a server's refusal as if it came from a disk; these are the matching NFS messages. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/special device .* does not exist/, 'the server has no such folder'],
  [/write-protected/, 'access denied by the server'],
];

/** The reason of a failed mount, from the error output of mount(8). It omits the agent's path, which means nothing to users. */
export function nfsFailure(output: string, target: string): string {
  const [line = ''] = output.split('\n');
  const plain = line.replace('mount: ', '').replace(`${target}: `, '').replace('mount(2) system call failed: ', '');
  return REFUSALS.find(([words]) => words.test(plain))?.[1] ?? plain;
}
