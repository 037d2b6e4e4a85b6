import { expect, test } from 'vitest';
import { endpoint, service, slice, topology } from '../testing/services.ts';
import { planService } from './plan-service.ts';
import { RuleBook } from './rule-book.ts';
import { formatChange, formatDeletions, formatReplacement } from './transaction.ts';

const plan = (...addresses: readonly string[]) =>
  planService(service(), [slice(addresses.map((address) => endpoint(address)))], topology());

function textOf(book: RuleBook): string | undefined {
  const change = book.takeChange();
  return change === undefined ? undefined : formatChange('t', change);
}

const DRAW =
  'meta l4proto { tcp, udp, sctp } dnat ip addr . port to ip daddr . meta l4proto . th dport . numgen random mod 1 map @endpoints';

test('a change of one endpoint changes its elements, and nothing is said twice', () => {
  const book = new RuleBook();
  book.put('service/default/web', plan('10.128.4.1'));
  expect(textOf(book)).toBe(`add chain ip t draw/1
flush chain ip t draw/1
add rule ip t draw/1 ${DRAW}
add element ip t cluster-addresses { 10.96.0.10 }
add element ip t own-addresses { 10.128.4.1 . 10.128.4.1 }
add element ip t services { 10.96.0.10 . tcp . 80 : goto draw/1 }
add element ip t endpoints { 10.96.0.10 . tcp . 80 . 0 : 10.128.4.1 . 8080 }
`);
  book.put('service/default/web', plan('10.128.4.1'));
  expect(textOf(book)).toBeUndefined();
  book.put('service/default/web', plan('10.128.4.2'));
  expect(textOf(book)).toBe(`delete element ip t own-addresses { 10.128.4.1 . 10.128.4.1 }
delete element ip t endpoints { 10.96.0.10 . tcp . 80 . 0 }
add element ip t endpoints { 10.96.0.10 . tcp . 80 . 0 : 10.128.4.2 . 8080 }
add element ip t own-addresses { 10.128.4.2 . 10.128.4.2 }
`);
});

test('what is gone loses its rules at once; its chains are deleted by a transaction of their own', () => {
  const book = new RuleBook();
  book.put('service/default/web', plan('10.128.4.1'));
  book.takeChange();
  book.remove('service/default/web');
  const change = book.takeChange();
  expect(
    change === undefined ? '' : formatChange('t', change),
  ).toBe(`delete element ip t cluster-addresses { 10.96.0.10 }
delete element ip t own-addresses { 10.128.4.1 . 10.128.4.1 }
delete element ip t services { 10.96.0.10 . tcp . 80 }
delete element ip t endpoints { 10.96.0.10 . tcp . 80 . 0 }
flush chain ip t draw/1
`);
  expect(change?.goneChains).toEqual(['draw/1']);
  expect(formatDeletions('t', change?.goneChains ?? [])).toBe('delete chain ip t draw/1\n');
});

test('a chain that two owners share stays until the last one leaves', () => {
  const book = new RuleBook();
  book.put('service/a', plan('10.128.4.1'));
  book.put('service/b', plan('10.128.4.2'));
  book.takeChange();
  book.put('service/a', plan('10.128.4.1', '10.128.4.3'));
  expect(book.takeChange()?.goneChains).toEqual([]);
  book.remove('service/b');
  expect(book.takeChange()?.goneChains).toEqual(['draw/1']);
});

test('what is put and removed between two transactions is not in any', () => {
  const book = new RuleBook();
  book.put('service/default/web', plan('10.128.4.1'));
  book.remove('service/default/web');
  expect(book.takeChange()).toBeUndefined();
});

test('an element that two owners claim belongs to the first by name, and to the other when that one leaves', () => {
  const claim = (value: string) => ({
    elements: [{ container: 'services' as const, key: '192.0.2.1 . tcp . 80', value }],
    chains: new Map(),
    sets: new Map(),
  });
  const book = new RuleBook();
  book.put('service/b', claim('goto b'));
  expect(textOf(book)).toBe('add element ip t services { 192.0.2.1 . tcp . 80 : goto b }\n');
  book.put('service/a', claim('goto a'));
  expect(textOf(book)).toBe(`delete element ip t services { 192.0.2.1 . tcp . 80 }
add element ip t services { 192.0.2.1 . tcp . 80 : goto a }
`);
  book.remove('service/a');
  expect(textOf(book)).toContain('add element ip t services { 192.0.2.1 . tcp . 80 : goto b }');
  // An address that two Services share stays while one of them has it.
  book.put('service/c', claim('goto c'));
  expect(textOf(book)).toBeUndefined();
});

test('a replacement is the whole table in one transaction, whatever was applied before', () => {
  const book = new RuleBook();
  book.put('service/default/web', plan('10.128.4.1'));
  const first = book.takeChange();
  book.forgetApplied();
  expect(book.takeChange()).toEqual(first);
  expect(formatReplacement('t', '  chain a { }\n', undefined)).toBe(
    'add table ip t\ndelete table ip t\ntable ip t {\n  chain a { }\n}\n',
  );
});

test('the size of a transaction follows the change, not the number of Services', () => {
  const book = new RuleBook();
  for (let i = 0; i < 2000; i++) {
    const object = service({ clusterIP: `10.96.${Math.floor(i / 250)}.${(i % 250) + 1}` });
    object.metadata.name = `web-${i}`;
    book.put(`service/default/web-${i}`, planService(object, [slice([endpoint('10.128.4.1')])], topology()));
  }
  expect((textOf(book) ?? '').match(/10\.96\./g)?.length).toBe(6000);
  const object = service({ clusterIP: '10.96.0.1' });
  object.metadata.name = 'web-0';
  book.put('service/default/web-0', planService(object, [slice([endpoint('10.128.4.2')])], topology()));
  expect((textOf(book) ?? '').split('\n').length).toBeLessThan(8);
});
