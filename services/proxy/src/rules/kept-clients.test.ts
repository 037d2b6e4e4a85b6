import { expect, test } from 'vitest';
import { formatClients, readClients } from './kept-clients.ts';

/** As nft 1.1.3 prints it. */
const LISTING = `table ip other {
	set clients-10800/default/web/tcp/http/10.128.4.1/8080 {
		type ipv4_addr
		elements = { 10.0.0.9 expires 5s }
	}
}
table ip gantry-a {
	set cluster-addresses {
		type ipv4_addr
		elements = { 10.96.0.1, 10.96.0.10 }
	}
	set clients-10800/default/web/tcp/http/10.128.4.1/8080 {
		type ipv4_addr
		size 65535
		flags dynamic,timeout
		timeout 3h
		elements = { 10.128.4.7 expires 2h59m58s988ms,
			     10.128.4.8 timeout 5m expires 1m39s }
	}
	set clients-10800/default/web/tcp/http/10.128.4.2/8080 {
		type ipv4_addr
		flags dynamic,timeout
		timeout 3h
	}
	set pods-of/a {
		type ipv4_addr
		elements = { 10.128.4.1 expires 3s }
	}
}
`;
const [ONE, OTHER] = ['1', '2'].map((end) => `clients-10800/default/web/tcp/http/10.128.4.${end}/8080`);

test("clients are those of the table's own sets for affinity, with the rest of their time", () => {
  expect(readClients(LISTING, 'gantry-a')).toEqual(
    new Map([
      [ONE, ['10.128.4.7 expires 2h59m58s988ms', '10.128.4.8 expires 1m39s']],
      [OTHER, []],
    ]),
  );
  expect(readClients(LISTING, 'gantry-b')).toEqual(new Map());
});

test('a new table gets them back where it has the set', () => {
  const clients = readClients(LISTING, 'gantry-a');
  expect(formatClients('gantry-a', clients, new Map([[ONE ?? '', '']]))).toBe(
    `add element ip gantry-a ${ONE} { 10.128.4.7 expires 2h59m58s988ms, 10.128.4.8 expires 1m39s }\n`,
  );
  expect(formatClients('gantry-a', clients, new Map([[OTHER ?? '', '']]))).toBe('');
});
