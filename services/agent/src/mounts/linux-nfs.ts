import { lookup } from 'node:dns/promises';
import { mkdir, open, readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { AgentError } from '../runtime/agent-error.ts';
import { mountOf, mountTable } from './mount-table.ts';
import { nfsAttempts, nfsFailure } from './nfs-options.ts';
import { tryProgram } from './run-program.ts';
import type { NetworkMounts, NfsSource } from '../runtime/host-mounts.ts';

/** Without this limit, the kernel waits minutes for an unreachable server. */
const MOUNT_MS = 60_000;
const ANSWER_MS = 10_000;
/** The path of the first extra descriptor in a child process. */
const NETWORK = '/proc/self/fd/3';

/**
 * Mounts NFS in this process's mount namespace, and in the network namespace whose path `findNetwork` returns. Like in the kubelet, this
 * is the host's network: in the agent's own network, a mount would hang when the agent's container is replaced. Needs CAP_SYS_ADMIN; for
 * the host's network also CAP_SYS_PTRACE.
 */
export function linuxNfs(findNetwork: () => Promise<string>): NetworkMounts {
  return {
    mountNfs: async (folder, source, signal) => {
      if (await isMounted(folder)) return 'kept';
      const attempts = nfsAttempts(source, await addressOf(source), folder);
      await mkdir(folder, { recursive: true });
      await using network = await open(await findNetwork());
      const failures = new Set<string>();
      for (const { args } of attempts) {
        const command = [`--net=${NETWORK}`, '--', 'mount', ...args];
        const failure = await tryProgram('nsenter', command, { fds: [network.fd], timeoutMs: MOUNT_MS, signal });
        if (failure === undefined) return 'made';
        await checkKernel();
        if (failure.kind === 'timeout') throw failed(source, `no response within ${MOUNT_MS / 1000} s`);
        failures.add(nfsFailure(failure.output, folder));
      }
      throw failed(source, [...failures].join('; '));
    },
    checkAnswers: async (folder, signal) => {
      if (!(await isMounted(folder))) throw new AgentError('FailedMount', 'the NFS volume is not mounted');
      // In a separate process, which can be killed when the server does not answer.
      const failure = await tryProgram('stat', ['--file-system', '--', folder], { timeoutMs: ANSWER_MS, signal });
      if (failure === undefined) return;
      throw new AgentError('FailedMount', 'the server of the NFS volume does not answer');
    },
  };
}

/** Call it after a mount attempt: mount(2) makes the kernel load its NFS module if there is one. */
async function checkKernel(): Promise<void> {
  if (/^(?:nodev)?\s*nfs4?$/m.test(await readFile('/proc/filesystems', 'utf8'))) return;
  throw new AgentError(
    'FailedMount',
    "NFS volumes need the NFS client of the host's kernel, and the kernel of this node's host has none: there is no module nfs",
  );
}

async function addressOf({ server }: NfsSource): Promise<string> {
  if (isIP(server) !== 0) return server;
  try {
    return (await lookup(server)).address;
  } catch (error) {
    const message = `the address of the NFS server ${server} is not found: ${(error as NodeJS.ErrnoException).code}`;
    throw new AgentError('FailedMount', message, { cause: error });
  }
}

function failed({ server, path }: NfsSource, why: string): AgentError {
  return new AgentError('FailedMount', `mounting ${server}:${path} failed: ${why}`);
}

async function isMounted(folder: string): Promise<boolean> {
  return mountOf(await mountTable(), folder)?.path === folder;
}
