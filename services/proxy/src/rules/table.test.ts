import { expect, test } from 'vitest';
import { topology } from '../testing/services.ts';
import { tableSkeleton } from './table.ts';

/** The lines of a chain, without its name. */
function chain(name: string): string {
  return (
    new RegExp(`^  chain ${name} \\{([^}]*(?:\\{[^}]*\\}[^}]*)*)\\}$`, 'm').exec(
      tableSkeleton({ ...topology(), apiPort: 6443 }),
    )?.[1] ?? ''
  );
}

const UNJUDGED = 'ct state established,related accept; ip saddr . ip daddr @always-open accept';

test('policies judge what is new, egress before ingress, and no acceptance of one is one of the other', () => {
  expect(chain('egress-policies').trim()).toBe(
    `type filter hook forward priority -4; policy accept; ${UNJUDGED}; ip saddr vmap @egress-isolated;`,
  );
  expect(chain('ingress-policies').trim()).toBe(
    `type filter hook forward priority -3; policy accept; ${UNJUDGED}; ip daddr vmap @ingress-isolated;`,
  );
});

test("pods reach neither an engine nor a tunnel on the host's addresses; the host and others do", () => {
  const input = chain('input');
  expect(input).toContain('iifname "gtp-test" tcp dport { 2375, 2376, 2377, 7946 } drop');
  expect(input).toContain('iifname "gtp-test" udp dport { 4789, 7946, 8472 } drop');
  expect(input.match(/ drop/g)).toHaveLength(2);
});
