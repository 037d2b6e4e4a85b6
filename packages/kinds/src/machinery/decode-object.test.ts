import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { must } from '@gantry/base';
import { findResource } from '../registry.ts';
import { StatusError, cloneJson } from '@gantry/objects';
import { type FieldValidation, decodeAs, decodeObject, parseJson, normaliseShape } from '@gantry/apimachinery';

interface Step {
  readonly about: string;
  readonly method: string;
  readonly path: string;
  readonly raw?: string;
  readonly headers?: Record<string, string>;
  readonly want: { readonly code: number; readonly status?: { readonly message: string }; readonly body?: object };
}

const golden = (file: string): { id: string; steps: Step[] }[] =>
  readFileSync(new URL(`../../../../integration-tests/golden/${file}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; steps: Step[] });

const configMaps = must(findResource({ group: '', version: 'v1', resource: 'configmaps' }), 'configmaps');
const services = must(findResource({ group: '', version: 'v1', resource: 'services' }), 'services');
const deployments = must(findResource({ group: 'apps', version: 'v1', resource: 'deployments' }), 'deployments');

function decode(text: string, options: { mode?: FieldValidation; mediaType?: string; of?: typeof configMaps } = {}) {
  const { mode = 'Warn', mediaType = 'application/json', of = configMaps } = options;
  return decodeObject({ bytes: new TextEncoder().encode(text), mediaType, definition: of, mode });
}

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'fine';
}

it('reads lists of small numbers as bytes, as Go does', () => {
  const read = (list: string) => decode(`{"binaryData":{"b":${list}}}`).object;
  expect(read('[]')).toMatchObject({ binaryData: { b: '' } });
  expect(read('[104,105]')).toMatchObject({ binaryData: { b: 'aGk=' } });
  expect(messageOf(() => read('[256]'))).toMatch(/^400 .*cannot unmarshal number 256/);
  expect(messageOf(() => read('["a"]'))).toMatch(/^400 .*cannot unmarshal string/);
});

describe('the recorded bodies', () => {
  const scenario = must(
    golden('request.jsonl').find(({ id }) => id === 'request/body/00'),
    'recording',
  );
  const refused = scenario.steps.filter((step) => step.raw !== undefined && step.want.code === 400);
  it.each(refused.map((step) => [step.about, step] as const))('%s', (about, step) => {
    const mode = new URL(step.path, 'http://x').searchParams.get('fieldValidation') === 'Strict' ? 'Strict' : 'Warn';
    const mediaType = step.headers?.['content-type'] ?? 'application/json';
    const said = messageOf(() => decode(step.raw ?? '', { mode, mediaType }));
    // Messages of Go's YAML decoder differ in places, those of its JSON decoder do not. The nesting limit is lower here.
    if (mediaType === 'application/json' && about !== 'deep')
      expect(said).toBe(`400 ${step.want.status?.message ?? ''}`);
    else expect(said).toMatch(/^400 /);
  });
});

describe('decodeObject', () => {
  it('drops unknown fields and nulls, fills in what it is', () => {
    const { object, warnings } = decode('{"metadata":{"name":"x","labels":null},"data":{"a":"1"},"bogus":{"a":1}}');
    expect(object).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: '1' } });
    expect(warnings).toEqual(['unknown field "bogus"']);
  });

  it('says every unknown and repeated field in strict mode', () => {
    const text = '{"metadata":{"name":"x","name":"x","bogus":1},"spec":{}}';
    expect(messageOf(() => decode(text, { mode: 'Strict' }))).toBe(
      '400 ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.bogus", unknown field "spec", duplicate field "metadata.name"',
    );
    expect(decode(text, { mode: 'Ignore' }).warnings).toEqual([]);
  });

  it.each([
    [
      '{"spec":{"replicas":"3"}}',
      'cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      '{"spec":{"replicas":1.5}}',
      'cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      '{"spec":{"replicas":2147483648}}',
      'cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      '{"spec":{"template":{"spec":{"containers":[{"image":7}]}}}}',
      'cannot unmarshal number into Go struct field Container.spec.template.spec.containers.image of type string',
    ],
    ['{"spec":[]}', 'cannot unmarshal array into Go struct field Deployment.spec of type'],
    [
      '{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}}}',
      'quantities must match the regular expression',
    ],
    ['{"metadata":{"creationTimestamp":"yesterday"}}', 'cannot parse "yesterday" as "2006"'],
    ['{"metadata":{"creationTimestamp":"2026-02-30T00:00:00Z"}}', 'day out of range'],
    ['{"kind":"Bogus"}', 'no kind "Bogus" is registered for version "apps/v1"'],
    ['{"apiVersion":"apps/v9"}', 'no kind "Deployment" is registered for version "apps/v9"'],
  ])('refuses %s', (text, message) => {
    expect(messageOf(() => decode(text, { of: deployments }))).toContain(message);
  });

  it('writes times, quantities and base64 in canonical form', () => {
    const { object } = decode(
      '{"metadata":{"creationTimestamp":"2026-01-01T02:00:00.9+02:00"},"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":0.5,"memory":"1024Mi"}}}]}}}}',
      { of: deployments },
    );
    expect(object.metadata.creationTimestamp).toBe('2026-01-01T00:00:00Z');
    expect(object).toMatchObject({
      spec: { template: { spec: { containers: [{ resources: { limits: { cpu: '500m', memory: '1Gi' } } }] } } },
    });
  });

  it('keeps every digit of 64-bit numbers', () => {
    const { object } = decode('{"metadata":{"generation":9007199254740993}}');
    const text = JSON.stringify(object);
    expect(text).toContain('"generation":9007199254740993');
    expect(JSON.stringify(parseJson(text))).toBe(text);
    expect(JSON.stringify(cloneJson(object))).toBe(text);
  });

  it('gives fields the defaults of the schema, also from protobuf-like nulls', () => {
    const { object } = decode('{"spec":{"ports":[{"port":80},{"port":81,"protocol":""},null]}}', { of: services });
    expect(object).toMatchObject({
      spec: { ports: [{ protocol: 'TCP' }, { protocol: 'TCP' }, { port: 0, protocol: 'TCP' }] },
    });
  });

  it('reads YAML 1.1 as Go does', () => {
    const text = 'metadata:\n  name: x\ndata: {a: "y", b: "1:30"}\nbinaryData: &x {c: AAEC}\nimmutable: on\n';
    expect(decode(text, { mediaType: 'application/yaml' }).object).toMatchObject({
      data: { a: 'y', b: '1:30' },
      binaryData: { c: 'AAEC' },
      immutable: true,
    });
    expect(messageOf(() => decode('data: {a: 1}', { mediaType: 'application/yaml' }))).toContain(
      'cannot unmarshal number into Go struct field ConfigMap.data of type string',
    );
    expect(
      messageOf(() => decode('data: {a: "1", a: "2"}', { mediaType: 'application/yaml', mode: 'Strict' })),
    ).toContain('key "a" already set in map');
  });

  it('refuses a small YAML that would become a huge one', () => {
    const lines = ['a: &a ["x","x","x","x","x","x","x","x","x","x"]'];
    for (let level = 0; level < 8; level++) {
      const [from, to] = [String.fromCharCode(97 + level), String.fromCharCode(98 + level)];
      lines.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(',')}]`);
    }
    expect(messageOf(() => decode(lines.join('\n'), { mediaType: 'application/yaml' }))).toContain(
      'excessive aliasing',
    );
  });

  it('reads options of requests by any group', () => {
    const bytes = new TextEncoder().encode('{"apiVersion":"apps/v1","kind":"DeleteOptions","gracePeriodSeconds":0}');
    expect(decodeAs('meta.v1.DeleteOptions', bytes, 'application/json').object).toEqual({
      apiVersion: 'apps/v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
    });
  });
});

describe('normaliseShape', () => {
  it('writes what Go writes and nothing else', () => {
    expect(
      normaliseShape({ spec: { hostNetwork: false, automountServiceAccountToken: false, volumes: [] } }, 'core.v1.Pod'),
    ).toEqual({
      metadata: {},
      spec: { automountServiceAccountToken: false, containers: null },
      status: {},
    });
  });

  it('leaves answers of a real server as they are', () => {
    for (const { steps, id } of golden('create.jsonl')) {
      const schema = /^create\/(Pod|ConfigMap|Secret|Node|Service|Event)(?:-\w+)?\//.exec(id)?.[1];
      if (schema === undefined) continue;
      for (const { want } of steps) {
        if (want.body === undefined) continue;
        expect(normaliseShape(cloneJson(want.body), `core.v1.${schema}`)).toEqual(want.body);
      }
    }
  });
});
