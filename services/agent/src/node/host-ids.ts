import { readFile } from 'node:fs/promises';

/** Ids of the machine, for nodeInfo; '' where the kernel does not show one. */
export async function readHostIds(): Promise<{ machine: string; boot: string; system: string }> {
  const [machine, boot, system] = await Promise.all([
    read('/etc/machine-id'),
    read('/proc/sys/kernel/random/boot_id'),
    read('/sys/class/dmi/id/product_uuid'),
  ]);
  return { machine: machine || boot.replaceAll('-', ''), boot, system: system || boot };
}

async function read(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    // Absent or hidden on this machine: the field stays empty.
    return '';
  }
}
