import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parseNetworkDevices } from './network-devices.ts';

const TEXT = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  840      10    0    0    0     0          0         0      840      10    0    0    0     0       0          0
  eth0: 5000      40    1    2    3     4          5         6     7000      60    8    9   10    11      12         13
veth12:    1       1    0    0    0     0          0         0        1       1    0    0    0     0       0          0
`;

it('reads what was received and sent, but for the loopback and the links of containers', () => {
  expect(parseNetworkDevices(TEXT)).toEqual([
    {
      name: 'eth0',
      received: { bytes: 5000, packets: 40, errors: 1, dropped: 2 },
      sent: { bytes: 7000, packets: 60, errors: 8, dropped: 9 },
    },
  ]);
});

it('reads what the kernel of this machine writes', async () => {
  const text = await readFile('/proc/self/net/dev', 'utf8');
  const shown = text.split('\n').flatMap((line) => /^\s*(?!lo|veth|docker)(\S+):/.exec(line)?.[1] ?? []);
  expect(parseNetworkDevices(text).map(({ name }) => name)).toEqual(shown);
});
