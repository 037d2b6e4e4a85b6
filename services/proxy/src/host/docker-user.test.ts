import { expect, test } from 'vitest';
import { dockerUserChain, formatDockerUserChain } from './docker-user.ts';

test('the chain lets only translated packets to pods pass that come from no other cluster, and their replies', () => {
  const chain = dockerUserChain('gantry-ae1b6f');
  expect(formatDockerUserChain(chain, { podBridge: 'gtp-ae1b6f', tunnelDevice: undefined })).toBe(`*filter
:GANTRY-ae1b6f - [0:0]
-A GANTRY-ae1b6f -i gtp-ae1b6f -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j ACCEPT
-A GANTRY-ae1b6f -i gtp-+ -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j RETURN
-A GANTRY-ae1b6f -i gtv-+ -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j RETURN
-A GANTRY-ae1b6f -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j ACCEPT
-A GANTRY-ae1b6f -i gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir REPLY -j ACCEPT
COMMIT
`);
});

test("a chain's name has at most 28 characters", () => {
  expect(dockerUserChain(`gantry-${'x'.repeat(50)}`)).toHaveLength(28);
});

test('pods of this host and of others reach each other; pods of other clusters reach neither', () => {
  const text = formatDockerUserChain('C', { podBridge: 'gtp-a', tunnelDevice: 'gtv-a' });
  const lines = text.split('\n').filter((line) => line.startsWith('-A'));
  expect(lines.slice(1, 3)).toEqual(['-A C -i gtp-a -o gtv-a -j ACCEPT', '-A C -i gtv-a -o gtp-a -j ACCEPT']);
  for (const device of ['gtp-a', 'gtv-a']) {
    const accepted = lines.findIndex((line) => line.startsWith(`-A C -o ${device} -m`));
    const left = lines.flatMap((line, at) => (line.includes(`+ -o ${device} -m`) ? [at] : []));
    expect(left).toHaveLength(2);
    for (const at of left) expect(at).toBeLessThan(accepted);
  }
});
