import { expect, test } from 'vitest';
import { ChangeWatch } from './nft.ts';

const CASES: readonly (readonly [string, readonly string[], number])[] = [
  ['a flush by another program', ['delete rule ip gantry-a forward handle 7', by('nft')], 1],
  ['a deleted table', ['delete table ip gantry-a', by('nft')], 1],
  ['an element that was added', ['add element ip gantry-a services { 10.96.0.1 . tcp . 443 : drop }', by('nft')], 1],
  ['what we did ourselves', ['delete rule ip gantry-a forward handle 7', by('gpx-gantry-a')], 0],
  ['the table of another cluster', ['delete table ip gantry-ab', by('nft')], 0],
  ["the engine's tables", ['add rule ip nat DOCKER comment "x ip gantry-a"', by('iptables')], 0],
  ['a transaction of others after one of ours', ['delete table ip gantry-a', by('gpx-gantry-a'), by('nft')], 0],
  ['two transactions of others', ['delete table ip gantry-a', by('nft'), 'add table ip gantry-a', by('nft')], 2],
];

function by(program: string): string {
  return `# new generation 5 by process 21969 (${program})`;
}

test.each(CASES)('reports %s', (_, lines, times) => {
  let reports = 0;
  const watch = new ChangeWatch('gantry-a', 'gpx-gantry-a', () => reports++);
  for (const line of lines) watch.take(line);
  expect(reports).toBe(times);
});
