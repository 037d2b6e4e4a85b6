import type { InterfaceStats, Traffic } from '../runtime/stats.ts';

/** Ignored like in cAdvisor: the loopback, and the host's ends of container links. */
const IGNORED = /^(lo|veth|docker)/;

/** The interfaces in the format of `/proc/<pid>/net/dev`. */
export function parseNetworkDevices(text: string): readonly InterfaceStats[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', counters = ''] = /^\s*(\S+):\s*([\d\s]+)$/.exec(line) ?? [];
    const numbers = counters.trim().split(/\s+/).map(Number);
    // Eight columns for received and eight for sent traffic.
    if (numbers.length < 16 || IGNORED.test(name)) return [];
    return [{ name, received: traffic(numbers.slice(0, 4)), sent: traffic(numbers.slice(8, 12)) }];
  });
}

function traffic([bytes = 0, packets = 0, errors = 0, dropped = 0]: readonly number[]): Traffic {
  return { bytes, packets, errors, dropped };
}
