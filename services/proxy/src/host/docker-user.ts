import { readFile } from 'node:fs/promises';
import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { runProgram, succeeds } from './run-program.ts';

/** The engine may write its rules in either form. The chain for users' rules shows which form it uses. */
const BACKENDS: readonly IptablesBackend[] = ['iptables-nft', 'iptables-legacy'];
const RECHECK_MS = 5000;

export interface DockerUserOptions {
  readonly clusterId: string;
  readonly podBridge: string;
  readonly podCidr: string;
  /** The device that leads to other hosts. Undefined on a host that reaches no other hosts. */
  readonly tunnelDevice: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The name of the chain that DOCKER-USER jumps to. iptables allows 28 characters. */
export function dockerUserChain(clusterId: string): string {
  return `GANTRY-${clusterId.replace(/^gantry-/, '')}`.slice(0, 28);
}

/** The pod bridges of all clusters of the host (see the settings of `up`), and their tunnels to other hosts. */
const FROM_CLUSTERS = ['gtp-+', 'gtv-+'] as const;
const TRANSLATED = '-m conntrack --ctstate DNAT --ctdir';

/**
 * The rules of our chain. They accept packets that were translated to a pod's address, and the replies. Docker drops packets from outside
 * for a container whose port is not published, and packets between its networks. The rules leave packets from another cluster's pods to
 * Docker, which drops them, because a Service there may have endpoints here.
 *
 * All packets between the pods of this host and of other hosts pass. Our own table checks which packets of the tunnel a host has sent.
 */
function rulesOf({ podBridge, tunnelDevice }: ChainOptions): readonly string[] {
  const devices = tunnelDevice === undefined ? [podBridge] : [podBridge, tunnelDevice];
  return [
    `-i ${podBridge} -o ${podBridge} ${TRANSLATED} ORIGINAL -j ACCEPT`,
    ...(tunnelDevice === undefined
      ? []
      : [
          `-i ${podBridge} -o ${tunnelDevice} -j ACCEPT`,
          `-i ${tunnelDevice} -o ${podBridge} -j ACCEPT`,
          `-i ${tunnelDevice} -o ${tunnelDevice} ${TRANSLATED} ORIGINAL -j ACCEPT`,
        ]),
    ...devices.flatMap((device) =>
      FROM_CLUSTERS.map((from) => `-i ${from} -o ${device} ${TRANSLATED} ORIGINAL -j RETURN`),
    ),
    ...devices.flatMap((device) => [
      `-o ${device} ${TRANSLATED} ORIGINAL -j ACCEPT`,
      `-i ${device} ${TRANSLATED} REPLY -j ACCEPT`,
    ]),
  ];
}

type ChainOptions = Pick<DockerUserOptions, 'podBridge' | 'tunnelDevice'>;

/** Returns the input of iptables-restore that fills our chain. */
export function formatDockerUserChain(chain: string, options: ChainOptions): string {
  const rules = rulesOf(options).map((rule) => `-A ${chain} ${rule}\n`);
  return `*filter\n:${chain} - [0:0]\n${rules.join('')}COMMIT\n`;
}

/** Keeps our chain behind DOCKER-USER until the signal is aborted, even if the engine or other programs remove it. */
export async function keepDockerUser(options: DockerUserOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = options;
  let reported = '';
  await new ControlLoop({
    round: async () => {
      await ensure(options, signal);
      reported = '';
    },
    intervalMs: RECHECK_MS,
    onError: (error) => {
      const reason = errorMessage(error);
      if (reason === reported) return;
      reported = reason;
      logger.warn(
        { reason },
        'NodePorts are not reached from outside, nor pods of other hosts: the chain behind DOCKER-USER is missing',
      );
    },
    clock,
  }).run(signal);
}

/** The names in the rules. The name of the tunnel device is set even if there is no tunnel. */
type RemovalOptions = Pick<DockerUserOptions, 'clusterId' | 'podBridge' | 'podCidr'> & {
  readonly tunnelDevice: string;
};

/** Removes our chain, and the rule that accepts packets of other hosts before the engine's rules. If they are missing, that is no error. */
export async function removeDockerUser(options: RemovalOptions, signal: AbortSignal): Promise<void> {
  const iptables = await engineBackend(signal);
  const chain = dockerUserChain(options.clusterId);
  if (iptables !== undefined) await removeDirectAccess(iptables, options, signal);
  if (iptables === undefined || !(await succeeds(iptables, ['-n', '-L', chain], signal))) return;
  while (await succeeds(iptables, ['-D', 'DOCKER-USER', '-j', chain], signal));
  await runProgram(iptables, ['-w', '-F', chain], signal);
  await runProgram(iptables, ['-w', '-X', chain], signal);
}

async function ensure(options: DockerUserOptions, signal: AbortSignal): Promise<void> {
  const iptables = await ensureChain(options, signal);
  const { tunnelDevice } = options;
  if (iptables === undefined || tunnelDevice === undefined) return;
  await ensureDirectAccess(iptables, { ...options, tunnelDevice }, signal);
}

/** Returns the iptables that the engine uses, or undefined if it uses none. */
async function ensureChain(options: DockerUserOptions, signal: AbortSignal): Promise<IptablesBackend | undefined> {
  const { clusterId, logger } = options;
  const chain = dockerUserChain(clusterId);
  const jump = ['DOCKER-USER', '-j', chain];
  // Checks each rule, because a chain from an earlier version lacks some of them.
  const rules = rulesOf(options).map((rule) => [chain, ...rule.split(' ')]);
  for (const iptables of BACKENDS) {
    const isJumping = await succeeds(iptables, ['-C', ...jump], signal);
    if (isJumping && (await areThere(iptables, rules, signal))) return iptables;
    if (!isJumping && !(await succeeds(iptables, ['-n', '-L', 'DOCKER-USER'], signal))) continue;
    await runProgram(`${iptables}-restore`, ['-w', '--noflush'], signal, formatDockerUserChain(chain, options));
    if (!isJumping) await runProgram(iptables, ['-w', '-I', ...jump], signal);
    logger.info({ chain, iptables }, 'chain behind DOCKER-USER written');
    return iptables;
  }
  return undefined;
}

async function areThere(
  iptables: string,
  rules: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const rule of rules) if (!(await succeeds(iptables, ['-C', ...rule], signal))) return false;
  return true;
}

/**
 * The iptables in whose tables the engine writes its rules, or undefined if it writes none. The legacy form comes last, because asking it
 * creates its tables.
 */
async function engineBackend(signal: AbortSignal): Promise<IptablesBackend | undefined> {
  for (const iptables of BACKENDS) {
    if (await succeeds(iptables, ['-n', '-L', 'DOCKER-USER'], signal)) return iptables;
  }
  return undefined;
}

/** The iptables in whose tables the engine writes. */
type IptablesBackend = 'iptables-nft' | 'iptables-legacy';

interface DirectAccessOptions {
  readonly podBridge: string;
  readonly podCidr: string;
  /** The device that leads to other hosts. */
  readonly tunnelDevice: string;
}

/**
 * Accepts packets from the tunnel before newer engines drop them. Before all other rules, these engines drop packets for a connected
 * container that do not come from the container's own bridge. Pods of other hosts would then not reach API servers, DNS servers and
 * agents. If the engine has no such rule, nothing is written.
 */
async function ensureDirectAccess(
  iptables: IptablesBackend,
  options: DirectAccessOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!(await mayHaveTable(iptables))) return;
  const rules = await runProgram(iptables, ['-w', '-t', 'raw', '-S', 'PREROUTING'], signal);
  const isClosed = rules.split('\n').some((rule) => rule.includes(` ! -i ${options.podBridge} -j DROP`));
  if (!isClosed || (await succeeds(iptables, rawRule('-C', options), signal))) return;
  await runProgram(iptables, ['-w', ...rawRule('-I', options)], signal);
}

/** Removes the rule of `ensureDirectAccess`. A missing rule is not an error. */
async function removeDirectAccess(
  iptables: IptablesBackend,
  options: DirectAccessOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!(await mayHaveTable(iptables))) return;
  while (await succeeds(iptables, rawRule('-D', options), signal));
}

function rawRule(command: '-C' | '-I' | '-D', { podCidr, tunnelDevice }: DirectAccessOptions): readonly string[] {
  return ['-t', 'raw', command, 'PREROUTING', '-d', podCidr, '-i', tunnelDevice, '-j', 'ACCEPT'];
}

/** Whether the table `raw` may be read. The legacy form creates a table when it is asked for one, and nothing removes the table again. */
async function mayHaveTable(iptables: IptablesBackend): Promise<boolean> {
  if (iptables === 'iptables-nft') return true;
  const names = await readFile('/proc/net/ip_tables_names', 'utf8');
  return names.split('\n').includes('raw');
}
