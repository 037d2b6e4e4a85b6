import { PROCESS_ENDED, readIfThere } from '../files/if-there.ts';
import { parseNetworkDevices } from '../files/network-devices.ts';
import type { InterfaceStats } from '../runtime/stats.ts';
import type { GroupReader } from './cgroup-stats.ts';

/** The interfaces of the network that a sandbox is in; undefined where its process is not found. Asks the engine nothing. */
export async function sandboxNetwork(
  id: string,
  groups: Pick<GroupReader, 'processesOf'>,
): Promise<readonly InterfaceStats[] | undefined> {
  const [pid] = await groups.processesOf(id);
  if (pid === undefined) return undefined;
  const text = await readIfThere(`/proc/${pid}/net/dev`, PROCESS_ENDED);
  if (text === undefined) return undefined;
  // Another process may have got the id meanwhile.
  const isSame = (await groups.processesOf(id)).includes(pid);
  return isSame ? parseNetworkDevices(text) : undefined;
}
