import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';
import { Tally } from './tally.ts';

it('a tally is shown as a histogram, whose buckets count what is below, too', async () => {
  const metrics = createMetrics('part');
  const tally = new Tally([0, 1, 5]);
  for (const value of [0, 0.5, 1, 1.5, 100]) tally.observe(value);
  metrics.tallies('waits', 'How long.', (show) => {
    show({ of: 'a' }, tally);
    show({ of: 'b' }, new Tally([]));
  });
  const { text } = await metrics.render();
  expect(text.trim().split('\n')).toEqual([
    '# HELP waits How long.',
    '# TYPE waits histogram',
    'waits_bucket{le="0",of="a"} 1',
    'waits_bucket{le="1",of="a"} 3',
    'waits_bucket{le="5",of="a"} 4',
    'waits_bucket{le="+Inf",of="a"} 5',
    'waits_sum{of="a"} 103',
    'waits_count{of="a"} 5',
    'waits_bucket{le="+Inf",of="b"} 0',
    'waits_sum{of="b"} 0',
    'waits_count{of="b"} 0',
  ]);
});
