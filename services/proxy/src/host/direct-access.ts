import { readFile } from 'node:fs/promises';
import { runProgram, succeeds } from './run-program.ts';

/** The iptables in whose tables the engine writes. */
export type IptablesBackend = 'iptables-nft' | 'iptables-legacy';

export interface DirectAccessOptions {
  readonly podBridge: string;
  readonly podCidr: string;
  /** The device that leads to other hosts. */
  readonly tunnelDevice: string;
}

/**
 * Accepts packets from the tunnel before newer engines drop them: these drop, before all other rules, packets for a container that they
 * have connected which do not come from its own bridge. Pods of other hosts would not reach API servers, DNS servers and agents. Where
 * the engine has no such rule, nothing is written.
 */
export async function ensureDirectAccess(
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

/** Removes what `ensureDirectAccess` has written. What is not there is not an error. */
export async function removeDirectAccess(
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

/** Whether the table `raw` may be read: the older form makes a table when it is asked for one, and nothing removes it again. */
async function mayHaveTable(iptables: IptablesBackend): Promise<boolean> {
  if (iptables === 'iptables-nft') return true;
  const names = await readFile('/proc/net/ip_tables_names', 'utf8');
  return names.split('\n').includes('raw');
}
