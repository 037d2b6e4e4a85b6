import type { PersistentVolumeClaim, StatefulSet } from '@gantry/objects';
import { expect, it } from 'vitest';
import { setsOfClaim } from './claims.ts';
import { claimTemplate, statefulSet } from './testing/objects.ts';

const claim = (name: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'n', name },
});

/** Which of the sets, given by name and claim templates, may use a claim, and which names were looked up. */
function lookUp(name: string, sets: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const find = (key: { readonly namespace: string; readonly name: string }): StatefulSet | undefined => {
    asked.push(key.name);
    const templates = sets[key.name];
    if (key.namespace !== 'n' || templates === undefined) return undefined;
    const set = statefulSet({ volumeClaimTemplates: templates.map(claimTemplate) });
    return { ...set, metadata: { ...set.metadata, namespace: 'n', name: key.name } };
  };
  return { found: setsOfClaim(find, claim(name)).map(({ metadata }) => metadata.name), asked };
}

it.each([
  ['data-web-0', { web: ['data'] }, ['web']],
  ['data-web-0', { web: ['logs'] }, []],
  ['my-data-my-web-12', { 'my-web': ['my-data'], web: ['my-data-my'] }, ['my-web', 'web']],
  ['data-web-00', { web: ['data'] }, []],
  ['data-web', { web: ['data'] }, []],
  ['web-0', { web: [''] }, []],
])('finds the sets of the claim %s', (name, sets, found) => {
  expect(lookUp(name, sets).found).toEqual(found);
});

it('looks up only what the name can mean, however many sets there are', () => {
  expect(lookUp('a-b-c-3', {}).asked).toEqual(['b-c', 'c']);
});
