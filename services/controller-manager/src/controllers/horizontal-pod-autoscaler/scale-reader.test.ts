import { expect, it } from 'vitest';
import { resourceOfKind } from './scale-reader.shell.ts';

const CRON_TABS = {
  group: 'example.com',
  version: 'v2',
  resource: 'crontabs',
  kind: 'CronTab',
  namespaced: true,
  verbs: ['get'],
  origin: 'custom',
} as const;
const kinds = {
  findKind: (group: string, kind: string) => (group === 'example.com' && kind === 'CronTab' ? CRON_TABS : undefined),
};

it.each([
  ['apps/v1', 'Deployment', 'deployments'],
  ['apps/v1beta1', 'StatefulSet', 'statefulsets'],
  ['v1', 'ReplicationController', 'replicationcontrollers'],
  ['example.com/v1', 'CronTab', 'crontabs'],
  ['apps/v1', 'CronTab', 'no matches for kind "CronTab" in group "apps"'],
  ['', 'Odd', 'no matches for kind "Odd" in group ""'],
])('%s %s is the resource %s, whatever its version', (apiVersion, kind, expected) => {
  const found = resourceOfKind({ apiVersion, kind, name: 'x' }, kinds);
  expect(typeof found === 'string' ? found : found.resource).toBe(expected);
});
