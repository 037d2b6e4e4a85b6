import type { InterfaceStats, Traffic } from '../runtime/stats.ts';

/** As cAdvisor leaves out: the loopback, and the host's ends of the links of containers. */
const IGNORED = /^(lo|veth|docker)/;

/** The interfaces of a network, as the kernel shows them in `/proc/<pid>/net/dev`. */
export function parseNetworkDevices(text: string): readonly InterfaceStats[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', counters = ''] = /^\s*(\S+):\s*([\d\s]+)$/.exec(line) ?? [];
    const numbers = counters.trim().split(/\s+/).map(Number);
    // Eight columns of what was received, and eight of what was sent.
    if (numbers.length < 16 || IGNORED.test(name)) return [];
    return [{ name, received: traffic(numbers.slice(0, 4)), sent: traffic(numbers.slice(8, 12)) }];
  });
}

function traffic([bytes = 0, packets = 0, errors = 0, dropped = 0]: readonly number[]): Traffic {
  return { bytes, packets, errors, dropped };
}
