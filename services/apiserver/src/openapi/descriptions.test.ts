import { resources } from '@gantry/api';
import { expect, test } from 'vitest';
import { createDescribe } from './descriptions.ts';

const describeField = createDescribe(resources);

test.each([
  ['apps.v1.DeploymentStrategy', '', 'DeploymentStrategy describes how to replace existing pods with new ones.'],
  [
    'apps.v1.DeploymentStrategy',
    'type',
    'Type of deployment. Can be "Recreate" or "RollingUpdate". Default is RollingUpdate.',
  ],
  [
    'apps.v1.DeploymentStrategy',
    'rollingUpdate',
    'Rolling update config params. Present only if DeploymentStrategyType = RollingUpdate.',
  ],
  ['core.v1.Pod', 'nonsense', undefined],
])('%s %s', (schema, field, sentence) => {
  expect(describeField(schema, field)).toBe(sentence);
});
