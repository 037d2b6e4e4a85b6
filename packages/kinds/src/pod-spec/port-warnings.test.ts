import { expect, it } from 'vitest';
import type { Container } from '@gantry/objects';
import { portWarnings } from './container-warnings.ts';

it('warns of ports that are alike, of few of very many', () => {
  const container: Container = { name: 'c', ports: [{ containerPort: 80 }, { containerPort: 80, hostPort: 1 }] };
  const placed = Array.from({ length: 3000 }, (_, i) => [container, `spec.containers[${i}]`] as const);
  expect(portWarnings(placed.slice(0, 1))).toEqual([
    'spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
  ]);
  expect(portWarnings(placed).length).toBeLessThan(2000);
});
