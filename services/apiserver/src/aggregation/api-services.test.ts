import { resources } from '@gantry/kinds';
import { WIDGETS } from '@gantry/kinds/testing';
import { expect, it } from 'vitest';
import { DEFAULT_PRIORITY, localApiServices, priorityOf } from './api-services.ts';

const services = localApiServices([...resources, WIDGETS]);

it('there is one APIService for each group version but that of APIServices', () => {
  const served = new Set([...resources, WIDGETS].map(({ group, version }) => `${version}.${group}`));
  served.delete('v1.apiregistration.k8s.io');
  expect(services.map(({ metadata }) => metadata?.name)).toEqual([...served]);
});

it('a group of our own has the priority of custom resources', () => {
  expect(services.find(({ metadata }) => metadata?.name === 'v1.example.dev')?.spec).toEqual({
    group: 'example.dev',
    version: 'v1',
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  });
});

it('a group that Kubernetes publishes has the priority that it has there', () => {
  const published = resources.filter(({ publishedSchema }) => publishedSchema === undefined);
  const missing = published
    .filter(({ group, version }) => priorityOf(group, version) === DEFAULT_PRIORITY)
    .map(({ group, version }) => `${group}/${version}`);
  expect([...new Set(missing)]).toEqual(['apiregistration.k8s.io/v1']);
});
