import { customDefinitions } from '@gantry/custom-resources';
import { type CustomResourceDefinition, StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { missingCustom, refuseCustom } from './not-served.ts';
import { negotiateOutput } from '../../http/negotiate.ts';
import { parseRoute } from '../request-info.ts';
import { ResourceRegistry } from '../../resource-registry.ts';

const crd: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.org' },
  spec: {
    group: 'example.org',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object' } },
      },
    ],
  },
};
const resourceRegistry = new ResourceRegistry(customDefinitions(crd, {}));
const ROOT = '/apis/example.org/v1/namespaces/n/things';

describe('at a path of a custom resource', () => {
  it.each([
    ['POST', `${ROOT}/a/status`, 'create is not supported on resources of kind "things.example.org"'],
    ['valueOf', `${ROOT}/a/status`, 'valueof is not supported on resources of kind "things.example.org"'],
    ['PUT', ROOT, 'name must be provided'],
    ['POST', '/apis/example.org/v1/things', undefined],
  ])('%s %s is refused', (method, path, message) => {
    const route = parseRoute({ method, path, query: new URLSearchParams() }, resourceRegistry);
    expect(route.kind === 'resource' ? refuseCustom(route, method)?.message : 'no route').toBe(message);
  });

  it.each([
    [`${ROOT}/a/nope`, 'things.example.org "a" not found'],
    ['/apis/example.org/v9/namespaces/n/things', 'nothing'],
    ['/apis/apps/v1/namespaces/n/things', undefined],
  ])('%s is missing', (path, expected) => {
    const missing = missingCustom(path, resourceRegistry);
    expect(missing instanceof StatusError ? missing.message : missing).toBe(expected);
  });

  it('protobuf is not to be had, but of metadata', () => {
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const refused =
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
    for (const accept of [protobuf, 'text/plain']) {
      expect(() => negotiateOutput(accept, 'single', 'tables', 'no-protobuf')).toThrow(refused);
    }
    expect(negotiateOutput(`${protobuf},application/json`, 'single', 'tables', 'no-protobuf').mediaType).toBe(
      'application/json',
    );
    const partial = `${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
    expect(negotiateOutput(partial, 'single', 'tables', 'no-protobuf').mediaType).toBe(protobuf);
  });
});
