import { systemClock } from '@gantry/base';
import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { Turns } from '../turns.ts';
import type { RemoteApi } from './api-service-index.ts';
import { discoveredResources } from './remote-documents.ts';
import { remoteOpenApi } from './remote-openapi.ts';

const turns = new Turns(systemClock);
const { signal } = new AbortController();
const REMOTE = { group: 'g', version: 'v1' } as RemoteApi;

/** Documents of OpenAPI, by the number of their bytes. */
const DOCUMENTS: Readonly<Record<string, (bytes: number) => string>> = {
  schemas: (bytes) =>
    openApi(
      {},
      list(9999, (i) => [`s${i}`, { description: 'x'.repeat(bytes / 10_000) }]),
    ),
  'large schemas': (bytes) =>
    openApi(
      {},
      list(bytes / 200_000, (i) => [`s${i}`, { properties: keys(9000) }]),
    ),
  'deep schemas': (bytes) =>
    openApi(
      {},
      list(bytes / 10_500, (i) => [`s${i}`, nested(700)]),
    ),
  paths: (bytes) =>
    openApi(
      list(9999, (i) => [`/apis/g/v1/${i}`, { get: { responses: {}, x: 'y'.repeat(bytes / 10_000) } }]),
      {},
    ),
  'strings with escapes': (bytes) => `{"a":"${'\\\\'.repeat(bytes / 2)}","paths":{}}`,
  brackets: (bytes) => `{"a":${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)},"paths":{}}`,
  'keys at the top': (bytes) => `{${Array.from({ length: bytes / 12 }, (_, i) => `"k${i}":0`).join(',')}}`,
};

function openApi(paths: object, schemas: object): string {
  return JSON.stringify({ openapi: '3.0.0', paths, components: { schemas } });
}
function list(count: number, each: (i: number) => [string, object]): object {
  return Object.fromEntries(Array.from({ length: Math.ceil(count) }, (_, i) => each(i)));
}
function keys(count: number): object {
  return list(count, (i) => [`k${i}`, { type: 'a' }]);
}
function nested(depth: number): object {
  let schema = {};
  for (let i = 0; i < depth; i++) schema = { items: schema };
  return schema;
}

const INPUTS: readonly GrowingInput[] = [
  ...Object.entries(DOCUMENTS).map(([shape, textOf]) => ({
    name: `OpenAPI of an extension server: ${shape}`,
    largest: 8_000_000,
    prepare: (size: number) => {
      const body = Buffer.from(textOf(size));
      // Some shapes exceed a bound.
      return () => turns.run(() => remoteOpenApi(body, REMOTE), signal).catch(() => undefined);
    },
  })),
  ...(['', '/x'] as const).map((suffix) => ({
    name: `discovery of an extension server: ${suffix === '' ? 'resources' : 'subresources'}`,
    largest: 1000,
    prepare: (size: number) => {
      const resources = Array.from({ length: size }, (_, i) => ({
        name: i % 2 === 0 ? `r${i}` : `r${i - 1}${suffix}${i}`,
      }));
      const body = Buffer.from(JSON.stringify({ resources }));
      const answer = { url: '', code: 200, contentType: 'application/json', body, digest: '' };
      return () => turns.run(() => discoveredResources(answer, REMOTE), signal);
    },
  })),
];

it.each(INPUTS)('$name: linear time', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
});
