import { expect, it, test } from 'vitest';
import { discoveredResources } from './remote-documents.ts';

const REMOTE = { name: 'v1.example.org', group: 'example.org', version: 'v1' };
const RESOURCE = {
  resource: 'things',
  responseKind: { group: 'example.org', version: 'v1', kind: 'Thing' },
  scope: 'Namespaced',
  singularResource: 'thing',
  verbs: ['get'],
  shortNames: ['th'],
  subresources: [{ subresource: 'status', responseKind: null, verbs: ['update'] }],
};

/** What is made of a server's document. */
function discovered(document: object, form: 'aggregated' | 'legacy'): unknown {
  const contentType = form === 'aggregated' ? 'application/json;g=apidiscovery.k8s.io;v=v2' : 'application/json';
  const answer = { code: 200, url: '', contentType, body: Buffer.from(JSON.stringify(document)), digest: '' };
  const pieces = discoveredResources(answer, REMOTE as Parameters<typeof discoveredResources>[1]);
  for (;;) {
    const { done, value } = pieces.next();
    if (done === true) return value;
  }
}

const aggregated = (resource: object) => ({
  items: [{ metadata: { name: 'example.org' }, versions: [{ version: 'v1', resources: [resource] }] }],
});

it('has the resources of the group version, with an empty kind where there is none', () => {
  const kind = { group: '', version: '', kind: '' };
  const subresources = [{ subresource: 'status', responseKind: kind, verbs: ['update'] }];
  expect(discovered(aggregated(RESOURCE), 'aggregated')).toEqual([{ ...RESOURCE, subresources }]);
});

test.each([
  [{ verbs: 5 }, 'verbs is no list of texts'],
  [{ verbs: ['get', {}] }, 'verbs is no list of texts'],
  [{ shortNames: 'th' }, 'shortNames is no list of texts'],
  [{ resource: {} }, 'resource is no text'],
  [{ scope: 1 }, 'scope is no text'],
  [{ responseKind: { group: '', version: '', kind: 7 } }, 'kind is no text'],
  [{ responseKind: 'Thing' }, 'responseKind is no object'],
  [{ responseKind: ['Thing'] }, 'responseKind is no object'],
  [{ subresources: [{ subresource: 'status', verbs: 1 }] }, 'verbs is no list of texts'],
  [{ subresources: ['status'] }, 'subresource is no object'],
  [{ subresources: 'status' }, 'subresources is no list'],
])('a resource with %j is refused, since clients could not read any group', (change, message) => {
  expect(() => discovered(aggregated({ ...RESOURCE, ...change }), 'aggregated')).toThrow(message);
});

it.each([[['things'], 'resource is no object'] as const, ['things', 'resources is no list'] as const])(
  'resources %j are refused',
  (resources, message) => {
    const versions = [{ version: 'v1', resources }];
    const document = { items: [{ metadata: { name: 'example.org' }, versions }] };
    expect(() => discovered(document, 'aggregated')).toThrow(message);
  },
);

it('refuses the same in an APIResourceList', () => {
  const list = (resource: object) => ({ resources: [{ name: 'things', kind: 'Thing', verbs: ['get'], ...resource }] });
  expect(discovered(list({}), 'legacy')).toHaveLength(1);
  expect(() => discovered(list({ verbs: 5 }), 'legacy')).toThrow('verbs is no list of texts');
  expect(() => discovered(list({ singularName: [] }), 'legacy')).toThrow('singularResource is no text');
});
