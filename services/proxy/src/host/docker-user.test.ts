import { expect, test } from 'vitest';
import { dockerUserChain, formatDockerUserChain } from './docker-user.ts';

test('the chain lets only translated packets to pods pass that come from no other cluster, and their replies', () => {
  const chain = dockerUserChain('gantry-ae1b6f');
  expect(formatDockerUserChain(chain, 'gtp-ae1b6f')).toBe(`*filter
:GANTRY-ae1b6f - [0:0]
-A GANTRY-ae1b6f -i gtp-ae1b6f -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j ACCEPT
-A GANTRY-ae1b6f -i gtp-+ -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j RETURN
-A GANTRY-ae1b6f -o gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir ORIGINAL -j ACCEPT
-A GANTRY-ae1b6f -i gtp-ae1b6f -m conntrack --ctstate DNAT --ctdir REPLY -j ACCEPT
COMMIT
`);
});

test("a chain's name has at most 28 characters", () => {
  expect(dockerUserChain(`gantry-${'x'.repeat(50)}`)).toHaveLength(28);
});
