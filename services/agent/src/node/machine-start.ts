import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The field of /proc/PID/stat with the start of the process, after the name in parentheses. */
const START_FIELD = 22 - 3;

/**
 * Identifies the current run of the machine: the kernel's boot, and the start of the first process. The latter also tells runs of a
 * machine apart that is a system container, whose kernel goes on. The agent must share the process namespace of its engine's host.
 */
export async function readMachineStart(proc = '/proc'): Promise<string> {
  const boot = (await readFile(join(proc, 'sys/kernel/random/boot_id'), 'utf8')).trim();
  const stat = await readFile(join(proc, '1/stat'), 'utf8');
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_FIELD];
  return `${boot}.${started}`;
}
