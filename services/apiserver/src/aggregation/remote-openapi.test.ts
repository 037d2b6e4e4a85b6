import { openApiV2JsonPart } from '@gantry/apimachinery';
import { expect, it } from 'vitest';
import { remoteOpenApi } from './remote-openapi.ts';

const PATH = '/apis/g.example.com/v1/things';

it('takes of a document what is about the group version', () => {
  const document = {
    openapi: '3.0.0',
    info: { title: 't', version: '1' },
    paths: { [PATH]: { get: { operationId: 'list', responses: {} } }, '/apis/g.example.com/v10/things': {}, '/x': {} },
    components: { schemas: { Thing: { type: 'object' } }, securitySchemes: {} },
  };
  expect(remoteOpenApi(document, 'g.example.com', 'v1')).toEqual({
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
  expect(remoteOpenApi(document, 'g.example.com', 'v1')).toMatchObject({
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

it.each([
  {},
  { openapi: '3.0.0', paths: [] },
  { openapi: '3.0.0', paths: {}, components: { schemas: 7 } },
  { openapi: '3.0.0', paths: { [PATH]: { get: { parameters: 3, responses: 5 } } } },
  { openapi: '3.0.0', paths: { [PATH]: { get: null } } },
  { openapi: '3.0.0', paths: {}, components: { schemas: { T: { properties: { a: null } } } } },
])('takes no document that could not stand among others: %j', (document) => {
  const made = remoteOpenApi(document, 'g.example.com', 'v1');
  expect(() => (made === undefined ? undefined : openApiV2JsonPart(made))).not.toThrow();
});
