import { type Clock, errorMessage, pause } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { ProgramError, runProgram } from './run-program.ts';

/** The engine's rules may be in either form; the chain for users' rules shows which it is. */
const BACKENDS = ['iptables-nft', 'iptables-legacy'] as const;
const RECHECK_MS = 5000;

export interface DockerUserOptions {
  readonly clusterId: string;
  readonly podBridge: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The name of the chain behind DOCKER-USER; iptables takes 28 characters. */
export function dockerUserChain(clusterId: string): string {
  return `GANTRY-${clusterId.replace(/^gantry-/, '')}`.slice(0, 28);
}

/** The bridges of pods of all clusters of the host; see the settings of `up`. */
const POD_BRIDGES = 'gtp-+';
const TRANSLATED = '-m conntrack --ctstate DNAT --ctdir';

/**
 * The rules of our chain: packets that were translated to a pod's address pass, and their replies. Docker drops what comes from outside
 * for a container whose port it has not published, and what goes from one of its networks to another. What comes from the pods of
 * another cluster is left to Docker, which drops it: a Service there may have endpoints here.
 */
function rulesOf(podBridge: string): readonly string[] {
  return [
    `-i ${podBridge} -o ${podBridge} ${TRANSLATED} ORIGINAL -j ACCEPT`,
    `-i ${POD_BRIDGES} -o ${podBridge} ${TRANSLATED} ORIGINAL -j RETURN`,
    `-o ${podBridge} ${TRANSLATED} ORIGINAL -j ACCEPT`,
    `-i ${podBridge} ${TRANSLATED} REPLY -j ACCEPT`,
  ];
}

/** What iptables-restore reads to fill our chain. */
export function formatDockerUserChain(chain: string, podBridge: string): string {
  const rules = rulesOf(podBridge).map((rule) => `-A ${chain} ${rule}\n`);
  return `*filter\n:${chain} - [0:0]\n${rules.join('')}COMMIT\n`;
}

/** Keeps our chain behind DOCKER-USER until the signal is aborted, whatever the engine or others do to it. */
export async function keepDockerUser(options: DockerUserOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = options;
  let reported = '';
  while (!signal.aborted) {
    let problem = '';
    try {
      await ensure(options, signal);
    } catch (error) {
      if (signal.aborted) return;
      problem = errorMessage(error);
    }
    if (problem !== '' && problem !== reported) {
      logger.warn(
        { reason: problem },
        'NodePorts are not reached from outside: the chain behind DOCKER-USER is missing',
      );
    }
    reported = problem;
    await pause(clock, RECHECK_MS, signal);
  }
}

/** Removes our chain. What is not there is not an error. */
export async function removeDockerUser(clusterId: string, signal: AbortSignal): Promise<void> {
  const iptables = await engineBackend(signal);
  const chain = dockerUserChain(clusterId);
  if (iptables === undefined || !(await succeeds(iptables, ['-n', '-L', chain], signal))) return;
  while (await succeeds(iptables, ['-D', 'DOCKER-USER', '-j', chain], signal));
  await runProgram(iptables, ['-w', '-F', chain], signal);
  await runProgram(iptables, ['-w', '-X', chain], signal);
}

async function ensure({ clusterId, podBridge, logger }: DockerUserOptions, signal: AbortSignal): Promise<void> {
  const chain = dockerUserChain(clusterId);
  const jump = ['DOCKER-USER', '-j', chain];
  // One that an earlier version has written lacks some of them.
  const rules = rulesOf(podBridge).map((rule) => [chain, ...rule.split(' ')]);
  for (const iptables of BACKENDS) {
    const isJumping = await succeeds(iptables, ['-C', ...jump], signal);
    if (isJumping && (await areThere(iptables, rules, signal))) return;
    if (!isJumping && !(await succeeds(iptables, ['-n', '-L', 'DOCKER-USER'], signal))) continue;
    await runProgram(`${iptables}-restore`, ['-w', '--noflush'], signal, formatDockerUserChain(chain, podBridge));
    if (!isJumping) await runProgram(iptables, ['-w', '-I', ...jump], signal);
    logger.info({ chain, iptables }, 'chain behind DOCKER-USER written');
    return;
  }
}

async function areThere(
  iptables: string,
  rules: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const rule of rules) if (!(await succeeds(iptables, ['-C', ...rule], signal))) return false;
  return true;
}

/** The iptables in whose tables the engine writes; undefined where it writes none. Asking the older form makes its tables: it is last. */
async function engineBackend(signal: AbortSignal): Promise<(typeof BACKENDS)[number] | undefined> {
  for (const iptables of BACKENDS) {
    if (await succeeds(iptables, ['-n', '-L', 'DOCKER-USER'], signal)) return iptables;
  }
  return undefined;
}

async function succeeds(iptables: string, args: readonly string[], signal: AbortSignal): Promise<boolean> {
  try {
    await runProgram(iptables, ['-w', ...args], signal);
    return true;
  } catch (error) {
    if (error instanceof ProgramError && !signal.aborted) return false;
    throw error;
  }
}
