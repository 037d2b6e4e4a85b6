import { atOnce } from '@gantry/base';
import { expect, it } from 'vitest';
import { type AdmissionReader, type AdmissionRequest, Reinvocation } from '../admission/index.ts';
import { definitionOf } from '../registry/testing.ts';
import { namespaceContact } from './example-check.ts';

const reader: AdmissionReader = {
  served: { definitions: [], findKind: () => undefined },
  find: () => Promise.resolve(undefined),
  findFresh: () => Promise.resolve(undefined),
  list: () => Promise.resolve([]),
};

function create(annotations: Record<string, string>): void {
  const request: AdmissionRequest = {
    operation: 'create',
    definition: definitionOf('namespaces'),
    kind: { group: '', version: 'v1', kind: 'Namespace' },
    namespace: '',
    name: 'team',
    subresource: '',
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team', annotations } },
    old: undefined,
    user: { name: 'u', uid: '', groups: [], extra: {} },
    dryRun: false,
    options: {},
    compute: (work) => Promise.resolve(atOnce(work)),
    signal: new AbortController().signal,
    warn: () => undefined,
    annotate: () => undefined,
    reinvocation: new Reinvocation(),
    conditions: [],
    charged: new Map(),
  };
  void namespaceContact.validate?.(request, reader);
}

it('refuses a namespace without a contact', () => {
  expect(() => create({})).toThrow('namespaces "team" is forbidden: annotation example.dev/contact is missing');
});

it('admits a namespace with a contact', () => {
  expect(() => create({ 'example.dev/contact': 'team@example.dev' })).not.toThrow();
});
