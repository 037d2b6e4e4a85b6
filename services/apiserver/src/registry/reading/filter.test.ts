import { findResource } from '@gantry/kinds';
import { forbidden } from '@gantry/objects';
import { must } from '@gantry/base';
import { expect, it } from 'vitest';
import { filterOf } from './filter.ts';

const configMaps = must(findResource({ group: '', version: 'v1', resource: 'configmaps' }), 'configmaps');
const refused = (labelSelector: string, fieldSelector: string) => () =>
  filterOf(configMaps, { namespace: '', labelSelector, fieldSelector, faults: [forbidden('limit', 'not so')] });

it('finds out whether selectors are some before it says that a request contradicts itself, and of which fields after', () => {
  expect(refused('((', '')).toThrow("found '('");
  expect(refused('', 'bogus')).toThrow("invalid selector: 'bogus'");
  expect(refused('', 'spec.x=1')).toThrow('limit: Forbidden: not so');
  expect(refused('', '')).toThrow('limit: Forbidden: not so');
});
