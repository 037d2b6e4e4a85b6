import { expect, test } from 'vitest';
import { createMetrics } from './metrics.ts';
import { Tally } from './tally.ts';

test('values of metrics can be read, also those that are collected at a scrape', async () => {
  const metrics = createMetrics('part');
  metrics.counter('made_total', 'Made', ['kind']).inc({ kind: 'a' }, 2);
  metrics.gauge('open', 'Open', [], (gauge) => gauge.set(3));
  metrics.histogram('took_seconds', 'Took', ['kind'], [1, 2]).observe(1.5, { kind: 'a' });
  const tally = new Tally([1]);
  tally.observe(0.5);
  metrics.tallies('kept_seconds', 'Kept', (show) => show({ kind: 'b' }, tally));
  expect(await metrics.read('made_total')).toEqual([{ name: 'made_total', labels: { kind: 'a' }, value: 2 }]);
  expect(await metrics.read('open')).toEqual([{ name: 'open', labels: {}, value: 3 }]);
  expect(await metrics.read('took_seconds')).toContainEqual({
    name: 'took_seconds_sum',
    labels: { kind: 'a' },
    value: 1.5,
  });
  expect(await metrics.read('kept_seconds')).toContainEqual({
    name: 'kept_seconds_count',
    labels: { kind: 'b' },
    value: 1,
  });
  expect(await metrics.read('none')).toEqual([]);
});
