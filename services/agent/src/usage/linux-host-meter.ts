import { readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { parseNetworkDevices } from '../files/network-devices.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { HostMeter, HostReading } from '../runtime/stats.ts';

/**
 * Reads the kernel's statistics below `proc`, which cover the whole host even in a container, and the file system of `folder`. Amounts
 * are computed like in the kubelet: memory from the root control group's working set, processes from the number of threads and the
 * largest possible id.
 */
export function linuxHostMeter(proc: string, folder: string): HostMeter {
  const text = (...path: readonly string[]) => readFile(join(proc, ...path), 'utf8');
  return {
    read: async () => {
      const [memory, load, maxId, maxThreads, disk] = await Promise.all([
        text('meminfo'),
        text('loadavg'),
        text('sys', 'kernel', 'pid_max'),
        text('sys', 'kernel', 'threads-max'),
        statfs(folder),
      ]);
      const capacity = Math.min(numberIn(maxId, /^(\d+)/), numberIn(maxThreads, /^(\d+)/));
      return {
        memory: memoryOf(memory),
        disk: {
          availableBytes: disk.bavail * disk.bsize,
          capacityBytes: disk.blocks * disk.bsize,
          freeInodes: disk.ffree,
          inodes: disk.files,
        },
        processes: { available: capacity - numberIn(load, /\d+\/(\d+)/), capacity },
      };
    },
    // An agent in a container has its own network namespace, but sees the host's processes.
    readNetwork: async () => parseNetworkDevices(await text('1', 'net', 'dev')),
    readDevices: async () => {
      const names = deviceNames(await text('diskstats'));
      const number = deviceNumber((await stat(folder, { bigint: true })).dev);
      // A file system may have its own device number, which belongs to no disk.
      return { names, files: mountSource(await text('self', 'mountinfo'), number) ?? names.get(number) ?? number };
    },
  };
}

function deviceNames(diskstats: string): ReadonlyMap<string, string> {
  const lines = diskstats.matchAll(/^ *(\d+) +(\d+) (\S+) /gm);
  return new Map([...lines].map(([, major, minor, name]) => [`${major}:${minor}`, `/dev/${name}`]));
}

/** The source of a device's last mount. */
function mountSource(mountinfo: string, device: string): string | undefined {
  const lines = mountinfo.split('\n').filter((line) => line.split(' ')[2] === device);
  return / - \S+ (\S+)/.exec(lines.at(-1) ?? '')?.[1];
}

/** The kernel's form of a device number. */
function deviceNumber(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

function memoryOf(text: string): HostReading['memory'] {
  const bytes = (name: string) => numberIn(text, new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm')) * 1024;
  return {
    availableBytes: bytes('MemFree') + bytes('Inactive\\(file\\)'),
    capacityBytes: bytes('MemTotal'),
  };
}

function numberIn(text: string, form: RegExp): number {
  const found = form.exec(text)?.[1];
  if (found === undefined) throw new AgentError('Runtime', `the kernel's numbers have no ${form.source}`);
  return Number(found);
}
