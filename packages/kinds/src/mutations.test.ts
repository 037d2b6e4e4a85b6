import { readFileSync } from 'node:fs';
import { must, type Random, seededRandom } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import {
  type ResourceDefinition,
  applyPatch,
  decodeObject,
  decodeProtobuf,
  encodeProtobuf,
  managedKindOf,
  parseJson,
  normaliseShape,
  updateManagedFields,
  validateChange,
  validateNew,
} from '@gantry/apimachinery';
import { type KubeObject, type Pod, StatusError, apiVersionOf, cloneJson, setMember } from '@gantry/objects';
import { resources } from './registry.ts';

const context = { now: 0, user: { name: 'u', uid: '', groups: [], extra: {} }, warn: () => undefined };

const CORPORA = new URL('../../../integration-tests/golden/', import.meta.url);

function linesOf(corpus: string): readonly string[] {
  return readFileSync(new URL(corpus, CORPORA), 'utf8').trim().replaceAll('{ns}', 'n').split('\n');
}

/** For every recorded kind, a body that a real server accepted, or the object that it returned. */
function validBodies(): readonly { definition: ResourceDefinition; body: object }[] {
  const out = new Map<ResourceDefinition, object>();
  const definitionOf = ({ kind, apiVersion }: KubeObject) =>
    resources.find((r) => r.kind === kind && apiVersionOf(r) === apiVersion && r.stored);
  for (const line of linesOf('create.jsonl')) {
    const { steps } = JSON.parse(line) as { steps: { body?: KubeObject; want: { code: number } }[] };
    for (const { body, want } of steps) {
      const definition = body === undefined || want.code !== 201 ? undefined : definitionOf(body);
      if (definition !== undefined && body !== undefined && !out.has(definition)) out.set(definition, body);
    }
  }
  for (const line of linesOf('codec.jsonl')) {
    const stored = JSON.parse((JSON.parse(line) as { json: string }).json) as KubeObject;
    const definition = definitionOf(stored);
    const { name = '' } = stored.metadata;
    if (definition !== undefined && !out.has(definition)) out.set(definition, { ...stored, metadata: { name } });
  }
  return [...out].map(([definition, body]) => ({ definition, body }));
}

const STRANGE: readonly unknown[] = [
  null,
  '',
  'x',
  'UPPER case!',
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  true,
  [],
  {},
  [null],
  { a: null },
  '10%',
  '1Gi',
  'constructor',
  '__proto__',
  ['constructor'],
  JSON.parse('{"__proto__":{"a":"b"},"constructor":"c"}'),
];

const KEYS = ['bogus', 'constructor', '__proto__', 'toString'];

/** Changes one random value in place: replaces, removes, doubles or enlarges it. */
function mutate(value: unknown, random: Random): unknown {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  if (value === null || typeof value !== 'object' || random() < 0.05) return cloneJson(pick(STRANGE));
  const container = value as Record<string, unknown>;
  const keys = Object.keys(container);
  const key = pick(keys);
  if (keys.length === 0) return cloneJson(pick(STRANGE));
  const action = random();
  if (action < 0.1 && !Array.isArray(value)) delete container[key];
  else if (action < 0.15 && Array.isArray(value)) value.push(cloneJson(container[key]));
  else if (action < 0.2 && !Array.isArray(value)) setMember(container, pick(KEYS), cloneJson(pick(STRANGE)));
  else container[key] = mutate(container[key], random);
  return value;
}

/** The pure part of a create. Returns the object as it would be stored. Throws only StatusError. */
function create(definition: ResourceDefinition, bytes: Uint8Array): KubeObject {
  const { object } = decodeObject({ bytes, mediaType: 'application/json', definition, mode: 'Ignore' });
  const { strategy } = definition;
  // As the registry and admission do before validation.
  const meta = object.metadata;
  if (definition.namespaced) meta.namespace = 'n';
  if ((meta.name ?? '') === '' && (meta.generateName ?? '') !== '') meta.name = `${meta.generateName ?? ''}abcde`;
  meta.uid = '00000000-0000-0000-0000-000000000000';
  if (definition.kind === 'Pod')
    (object as Pod).spec = { ...(object as Required<Pod>).spec, serviceAccountName: 'default' };
  strategy.applyDefaults?.(object);
  const managedFields = updateManagedFields({
    of: managedKindOf(definition, ''),
    oldObject: undefined,
    newObject: normaliseShape(object, definition.schema),
    manager: 'm',
    now: 0,
  });
  strategy.prepareForCreate?.(object, context);
  object.metadata.managedFields = managedFields;
  strategy.applyDefaults?.(object);
  strategy.warnings?.(object);
  const errors = validateNew(definition, object);
  if (errors.length > 0) throw StatusError.invalid(definition.group, definition.kind, 'x', errors);
  return normaliseShape(object, definition.schema);
}

function outcome(run: () => void): string {
  try {
    run();
    return 'fine';
  } catch (error) {
    if (error instanceof StatusError) return `${error.code}`;
    throw error;
  }
}

describe('mutations of valid objects', () => {
  const all = validBodies();

  it.each(all.map(({ definition, body }) => [definition.kind, definition, body] as const))(
    '%s',
    (_kind, definition, body) => {
      const random = seededRandom(7);
      const old = create(definition, Buffer.from(JSON.stringify(body)));
      old.metadata.resourceVersion = '1';
      const seen = new Set<string>();
      for (let round = 0; round < 400; round++) {
        let mutated: unknown = cloneJson(body);
        for (let changes = 0; changes <= round % 3; changes++) mutated = mutate(mutated, random);
        const text = JSON.stringify(mutated);
        seen.add(
          outcome(() => {
            const object = create(definition, Buffer.from(text));
            expect(normaliseShape(cloneJson(object), definition.schema)).toEqual(object);
            expect(parseJson(JSON.stringify(object))).toEqual(object);
            expect(decodeProtobuf(encodeProtobuf(object))).toBeTypeOf('object');
            for (const column of definition.columns) column.value(object, 0);
            for (const field of Object.values(definition.selectableFields)) field(object);
          }),
        );
        for (const type of ['merge-patch+json', 'strategic-merge-patch+json']) {
          seen.add(
            outcome(() => {
              const patched = applyPatch(
                old,
                { type: `application/${type}`, bytes: Buffer.from(text) },
                { definition, mode: 'Ignore' },
              );
              const object = patched.object as KubeObject;
              definition.strategy.applyDefaults?.(object);
              definition.strategy.prepareForUpdate?.(object, cloneJson(old), context);
              const errors = validateChange(definition, object, old);
              if (errors.length > 0) throw StatusError.invalid(definition.group, definition.kind, 'x', errors);
            }),
          );
        }
      }
      expect([...seen].filter((code) => code !== 'fine' && !code.startsWith('4'))).toEqual([]);
      must(seen.has('fine') ? 'fine' : undefined, 'a mutation that is still valid');
    },
  );
});
