import { openApiDocument } from '@gantry/apimachinery';
import { resources } from '@gantry/kinds';
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
  ['core.v1.Pod', 'nonsense', undefined],
])('%s %s', (schema, field, sentence) => {
  expect(describeField(schema, field)).toBe(sentence);
});

test('a field of which nothing is said is described by the schema that it holds', () => {
  const document = openApiDocument(resources, 'apis/apps/v1', { version: 'v1.36.2', describe: describeField });
  expect(document).toMatchObject({
    components: {
      schemas: {
        'io.k8s.api.apps.v1.DeploymentSpec': {
          properties: {
            strategy: { description: 'DeploymentStrategy describes how to replace existing pods with new ones.' },
          },
        },
      },
    },
  });
});
