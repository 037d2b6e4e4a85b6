import { isIPv6 } from 'node:net';
import { AgentError } from '../runtime/agent-error.ts';
import type { NfsSource } from '../runtime/host-mounts.ts';

/** What mount.nfs(8) tries where no option names a version. The kernel by itself would take 3. */
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
 * The calls of mount(8) that mount a folder of an NFS server at `target`, the best version first. Without the help of mount.nfs(8), which
 * the agent's image does not have: what that adds is added here, the server's address above all, since the kernel resolves no names.
 * AgentError 'FailedMount' for a server or a path that could be read as something else.
 */
export function nfsAttempts(source: NfsSource, address: string, target: string): readonly NfsAttempt[] {
  const { server, path } = source;
  if (!SERVER.test(server)) throw new AgentError('FailedMount', `${JSON.stringify(server)} is not a name of a server`);
  if (!path.startsWith('/') || path.includes('\0'))
    throw new AgentError('FailedMount', `${JSON.stringify(path)} is not an absolute path`);
  const options = source.options.flatMap((option) => option.split(',')).filter((option) => option !== '');
  const own = source.access === 'read-only' ? [...options, 'ro'] : options;
  // Else mount(8) takes a refusal for a disk that is protected, and tries to read.
  const writes = own.includes('ro') ? [] : ['--rw'];
  const device = `${isIPv6(server) ? `[${server}]` : server}:${path}`;
  const attempt = (title: string, more: readonly string[], isOld: boolean): NfsAttempt => {
    // Locks of version 3 need rpc.statd on the host: they hold among the pods of this host.
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

/** What mount(8) takes a server's refusal for, which it words as if it were of a disk. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/special device .* does not exist/, 'the server has no such folder'],
  [/write-protected/, 'access denied by the server'],
];

/** Why a mount failed, by the error output of mount(8): without the path of the agent, which says nothing to users. */
export function nfsFailure(output: string, target: string): string {
  const [line = ''] = output.split('\n');
  const plain = line.replace('mount: ', '').replace(`${target}: `, '').replace('mount(2) system call failed: ', '');
  return REFUSALS.find(([words]) => words.test(plain))?.[1] ?? plain;
}
