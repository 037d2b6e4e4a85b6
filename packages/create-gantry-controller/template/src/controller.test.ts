import { CONFIG_MAPS } from '@gantry/operator';
import { type ObjectsReader, simulate } from '@gantry/operator/testing';
import { expect, test } from 'vitest';
import { type Greeting, GREETINGS } from './greeting.ts';
import { operator } from './operator.ts';

const key = { namespace: 'default', name: 'hello' };
const greeting: Greeting = {
  apiVersion: 'example.com/v1alpha1',
  kind: 'Greeting',
  metadata: { ...key },
  spec: { message: 'Hello', copies: 3 },
};

test('an object gets its copies', async () => {
  let last: ObjectsReader | undefined;
  const invariant = (objects: ObjectsReader) => void (last = objects);
  const report = await simulate({
    operator,
    kinds: [GREETINGS],
    objects: [greeting],
    faults: 'none',
    seeds: 1,
    invariant,
  });
  expect(report.text).toBe('');
  expect(last?.all(CONFIG_MAPS).map(({ metadata, data }) => [metadata.name, data])).toEqual(
    [0, 1, 2].map((index) => [`hello-${index}`, { message: 'Hello' }]),
  );
  expect(last?.all(GREETINGS)[0]?.status?.conditions).toMatchObject([{ type: 'Ready', message: 'There are 3 copies' }]);
});

test('each history ends in the same state, whatever crashes and gets lost', async () => {
  const report = await simulate({
    operator,
    kinds: [GREETINGS],
    objects: [greeting],
    steps: [
      (client, signal) => client.patch(GREETINGS, key, { merge: { spec: { copies: 1 } } }, signal),
      (client, signal) => client.patch(GREETINGS, key, { merge: { spec: { message: 'Goodbye', copies: 2 } } }, signal),
    ],
    invariant: (objects) => (objects.all(CONFIG_MAPS).length > 3 ? 'more than three copies' : undefined),
    seeds: 100,
  });
  // Otherwise the shortest history that failed.
  expect(report.text).toBe('');
}, 60_000);
