import { describe, expect, it } from 'vitest';
import { customDefinitions } from '@gantry/custom-resources';
import { findResource } from '../registry.ts';
import { type ResourceDefinition } from '@gantry/apimachinery';
import { pathItem } from '@gantry/apimachinery/testing';

const [custom] = customDefinitions(
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  },
  {},
);
const builtIn = findResource({ group: 'apps', version: 'v1', resource: 'deployments' });

function bodies(definition: ResourceDefinition | undefined, method: 'patch' | 'put'): readonly string[] {
  if (definition === undefined) throw new Error('no definition');
  const item = pathItem({ definition, subresource: undefined, schema: 'x', verbs: ['patch', 'update'], path: '/x' });
  const operation = item[method] as { requestBody: { content: Record<string, unknown> } };
  return Object.keys(operation.requestBody.content);
}

describe('operations', () => {
  it('tell clients to merge strategically what is built in alone', () => {
    const everywhere = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
    expect(bodies(custom, 'patch')).toEqual(everywhere);
    expect(bodies(builtIn, 'patch').toSorted()).toEqual(
      [...everywhere, 'application/strategic-merge-patch+json'].toSorted(),
    );
  });

  it('take no protobuf of custom resources', () => {
    expect(bodies(custom, 'put')).toEqual(['application/json', 'application/yaml']);
    expect(bodies(builtIn, 'put')).toEqual(['*/*']);
  });
});
