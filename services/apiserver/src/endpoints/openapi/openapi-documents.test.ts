import { encodeOpenApiV2Part, openApiPathOf, openApiV2JsonPart } from '@gantry/apimachinery';
import { resources } from '@gantry/kinds';
import { expect, test } from 'vitest';
import { OpenApiDocuments } from './openapi-documents.ts';

const CHANGED = 'apis/apps/v1';
const NONE = new Map();
const forms = ['index', 'v2', 'v2Json'] as const;

/** Documents of all resources, and the number of descriptions that were read to build them. */
function createCounted(): { documents: OpenApiDocuments; texts: () => number } {
  let texts = 0;
  const describe = (): string => {
    texts += 1;
    return 'a text';
  };
  const documents = OpenApiDocuments.create({ version: '1.36', describe }).following(resources, NONE);
  return { documents, texts: () => texts };
}

test.each(forms)('%s builds only the group versions that changed anew', async (form) => {
  const { documents, texts } = createCounted();
  await documents[form]();
  const all = texts();
  const changed = resources.filter((definition) => openApiPathOf(definition) === CHANGED).slice(1);
  const others = resources.filter((definition) => openApiPathOf(definition) !== CHANGED);
  const next = documents.following([...others, ...changed], NONE);
  await next[form]();
  const again = texts() - all;
  expect(again).toBeGreaterThan(0);
  expect(again).toBeLessThan(all / 5);
  expect(next.get(CHANGED)?.hash).not.toBe(documents.get(CHANGED)?.hash);
  expect(next.get('api/v1')).toBe(documents.get('api/v1'));
});

test.each(forms)('%s follows a resource that is defined anew', async (form) => {
  const { documents, texts } = createCounted();
  await documents[form]();
  const before = texts();
  const anew = resources.map((definition) => (openApiPathOf(definition) === CHANGED ? { ...definition } : definition));
  await documents.following(anew, NONE)[form]();
  expect(texts()).toBeGreaterThan(before);
});

test.each(forms)('%s lets other work run between two group versions', async (form) => {
  const { documents } = createCounted();
  let turns = 0;
  let isBuilding = true;
  const count = (): void => {
    turns += 1;
    if (isBuilding) setImmediate(count);
  };
  setImmediate(count);
  await documents[form]();
  isBuilding = false;
  expect(turns).toBeGreaterThanOrEqual(documents.paths.length);
});

test('the document of an extension server counts at its path, and its schemas are in version 2', async () => {
  const { documents } = createCounted();
  const schemas = { 'dev.example.Widget': { type: 'object' } };
  const remote = { openapi: '3.0.0', paths: { '/apis/example.dev/v1/widgets': {} }, components: { schemas } };
  const encoded = {
    v3: Buffer.from(JSON.stringify(remote)),
    v2Json: openApiV2JsonPart(remote),
    v2: encodeOpenApiV2Part(remote),
  };
  const next = documents.following(resources, new Map([['apis/example.dev/v1', encoded]]));
  expect(JSON.parse(next.get('apis/example.dev/v1')?.bytes.toString() ?? '')).toEqual(remote);
  expect(JSON.parse((await next.v2Json()).bytes.toString())).toMatchObject({ definitions: schemas });
  expect(Buffer.from((await next.v2()).bytes).includes('dev.example.Widget')).toBe(true);
});
