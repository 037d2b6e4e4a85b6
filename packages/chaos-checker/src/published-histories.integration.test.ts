import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { checkLinearizable, type Operation } from './linearizability.ts';

/** The module github.com/anishathalye/porcupine, which `deploy/bin/ensure-histories` links. */
const PORCUPINE = fileURLToPath(new URL('../../../.gantry/porcupine/', import.meta.url));
const LOGS = `${PORCUPINE}test_data/jepsen/`;

/** Which of the histories are linearizable, as Porcupine's own tests have it. */
const PUBLISHED = new Map(
  [...readFileSync(`${PORCUPINE}porcupine_test.go`, 'utf8').matchAll(/checkJepsen\(t, (\d+), (true|false)\)/g)].map(
    ([, number = '', verdict]) => [`etcd_${number.padStart(3, '0')}.log`, verdict === 'true'],
  ),
);

/** The values of `3` and `[3 0]`; `nil` is no value. */
const valuesOf = (text: string) => [...text.matchAll(/\d+/g)].map(([value]) => value);

function requestOf(verb: string, text: string): Operation['request'] {
  const [first = '', second = ''] = valuesOf(text);
  if (verb === 'read') return { kind: 'read' };
  return verb === 'write' ? { kind: 'write', value: first } : { kind: 'update', expected: first, value: second };
}

/** The operations of a log of Jepsen: `INFO  jepsen.util - 2 :invoke :cas [3 0]`, with tabs between the words. */
function readLog(text: string): readonly Operation[] {
  const operations: Operation[] = [];
  const open = new Map<string, number>();
  const lines = text.matchAll(
    /^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(.*)$/gm,
  );
  let at = 0;
  for (const [, client = '', type, verb = '', rest = ''] of lines) {
    at++;
    if (type === 'invoke') {
      open.set(client, operations.length);
      const request = requestOf(verb, rest);
      operations.push({
        client: Number(client),
        calledAt: at,
        returnedAt: undefined,
        request,
        outcome: { kind: 'unknown' },
      });
      continue;
    }
    const index = open.get(client);
    const invoked = operations[index ?? -1];
    // A read without a response says nothing; a write without one may happen at any time.
    if (index === undefined || invoked === undefined || type === 'info' || (type === 'fail' && verb === 'read'))
      continue;
    open.delete(client);
    const outcome: Operation['outcome'] =
      type === 'fail' ? { kind: 'refused' } : { kind: 'ok', ...(verb === 'read' && { value: valuesOf(rest)[0] }) };
    operations[index] = { ...invoked, returnedAt: at, outcome };
  }
  return operations;
}

it('are all there', () => {
  expect(PUBLISHED.size).toBe(102);
});

it.each([...PUBLISHED])('%s is linearizable: %s', (name, linearizable) => {
  const operations = readLog(readFileSync(`${LOGS}${name}`, 'utf8'));
  expect(operations.length).toBeGreaterThan(20);
  expect(checkLinearizable(operations).linearizable).toBe(linearizable);
});
