import { atOnce } from '@gantry/base';
import { expect, it } from 'vitest';
import { remoteOpenApi } from './remote-openapi.ts';

const PATH = '/apis/g.example.com/v1/things';
const ABOUT = { group: 'g.example.com', version: 'v1' };

/** The document in version 3; undefined when it is not taken. */
function taken(document: object): unknown {
  const made = atOnce(() => remoteOpenApi(Buffer.from(JSON.stringify(document)), ABOUT));
  return made === undefined ? undefined : JSON.parse(made.v3.toString());
}

it('takes of a document what is about the group version', () => {
  const document = {
    openapi: '3.0.0',
    info: { title: 't', version: '1' },
    paths: { [PATH]: { get: { operationId: 'list', responses: {} } }, '/apis/g.example.com/v10/things': {}, '/x': {} },
    components: { schemas: { Thing: { type: 'object' } }, securitySchemes: {} },
  };
  expect(taken(document)).toEqual({
    openapi: '3.0.0',
    info: { title: 't', version: '1' },
    paths: { [PATH]: { get: { operationId: 'list', responses: {} } } },
    components: { schemas: { Thing: { type: 'object' } } },
  });
});

it('says in the words of version 3 what a server of version 2 says', () => {
  const ref = { $ref: '#/definitions/Thing' };
  const document = {
    swagger: '2.0',
    info: { title: 't', version: '1' },
    paths: {
      [PATH]: {
        post: {
          operationId: 'create',
          consumes: ['application/json'],
          produces: ['application/json'],
          schemes: ['https'],
          parameters: [
            { name: 'body', in: 'body', schema: ref },
            { name: 'dryRun', in: 'query', type: 'string', uniqueItems: true, description: 'd' },
          ],
          responses: { 200: { description: 'OK', schema: ref }, 401: {} },
        },
      },
    },
    definitions: { Thing: { type: 'object', properties: { of: ref } } },
  };
  const schema = { $ref: '#/components/schemas/Thing' };
  const content = { 'application/json': { schema } };
  expect(taken(document)).toMatchObject({
    openapi: '3.0.0',
    paths: {
      [PATH]: {
        post: {
          operationId: 'create',
          parameters: [
            { name: 'dryRun', in: 'query', description: 'd', schema: { type: 'string', uniqueItems: true } },
          ],
          requestBody: { content },
          responses: { 200: { description: 'OK', content }, 401: { description: '' } },
        },
      },
    },
    components: { schemas: { Thing: { type: 'object', properties: { of: schema } } } },
  });
});

it('finds names and values with signs of JSON', () => {
  const schema = { description: '"}]{[,:\\', enum: ['\\"', ':,'], properties: { 'a"b': { type: 'string' } } };
  const document = {
    paths: { [PATH]: { x: [[], {}, [{}, 1]] } },
    info: 3,
    components: { schemas: { '{"é,:}': schema } },
  };
  const info = { title: ABOUT.group, version: ABOUT.version };
  expect(taken(document)).toEqual({ ...document, openapi: '3.0.0', info });
});

it.each([
  { paths: {}, components: { schemas: { T: { properties: { a: null } } } } },
  { paths: { [PATH]: { get: { parameters: 3, responses: 5 } } } },
  { paths: { [PATH]: { get: null } } },
  {},
])('takes no document that could not stand among others: %j', (document) => {
  expect(taken({ openapi: '3.0.0', ...document })).toBeUndefined();
});

it.each(['', '{', '{"paths":{"a":}', '{"paths":{},"components":{"schemas":{"a":x}}}', '{"paths":{},a:1}'])(
  'takes no document that is no JSON: %s',
  (text) => {
    expect(atOnce(() => remoteOpenApi(Buffer.from(text), ABOUT))).toBeUndefined();
  },
);

it.each([
  [{ a: { description: 'x'.repeat(300_000) } }, 'the OpenAPI document has more than 262144 bytes for "a"'],
  [
    Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`s${i}`, {}])),
    'an object of the OpenAPI document has more than 10000 members',
  ],
])('says which bound is exceeded', (schemas, message) => {
  expect(() => taken({ paths: {}, components: { schemas } })).toThrow(message);
});

it('decodes a large document in pieces', () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`s${i}`, { description: 'x'.repeat(10_000) }]),
  );
  const body = Buffer.from(JSON.stringify({ paths: {}, components: { schemas } }));
  const pieces = remoteOpenApi(body, ABOUT);
  let count = 1;
  while (pieces.next().done !== true) count++;
  // Once for each schema, and for each 64 KiB that are searched for members.
  expect(count).toBeGreaterThanOrEqual(100 + 3 * Math.floor(body.length / 65_536));
});

/** A document of version 2 with operations whose body and response have many media types. */
function ofTypes(types: number, operations: number) {
  const all = Array.from({ length: types }, (_, i) => `a/${i}`);
  const schema = { description: 'x'.repeat(100_000) };
  const parameters = [{ in: 'body', name: 'b', schema }];
  const paths = Array.from({ length: operations }, (_, i) => [
    `${PATH}/${i}`,
    { put: { operationId: 'o', consumes: all, produces: all, parameters, responses: {} } },
  ]);
  return { swagger: '2.0', paths: Object.fromEntries(paths), definitions: {} };
}

it('refuses a document that becomes many times larger in version 3', () => {
  expect(taken(ofTypes(16, 1))).toBeDefined();
  expect(() => taken(ofTypes(17, 1))).toThrow('an operation of the OpenAPI document has more than 16 media types');
  expect(() => taken(ofTypes(16, 11))).toThrow('the OpenAPI document takes more than 16777216 bytes in version 3');
});
