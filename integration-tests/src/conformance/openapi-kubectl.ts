import type { V1JSONSchemaProps } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import type { KubectlVersion } from '../harness/kubectl-versions.ts';
import { anything } from './crd-fixtures.ts';
import { FOO, PRESERVING_NESTED, PRESERVING_ROOT, publish, withdraw } from './openapi.ts';
import { type Proof, proof, type World } from './world.ts';

const EXPLAINED_MS = 120_000;
const PUBLISH = '[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin]';

/** kubectl in the test's namespace, with documents of one custom resource. */
interface Speaker {
  readonly version: KubectlVersion;
  readonly plural: string;
  readonly kind: string;
  readonly run: (args: readonly string[], fields?: object) => Promise<{ code: number; output: string }>;
  readonly must: (args: readonly string[], fields?: object) => Promise<string>;
}

/** Publishes a definition and lets each kubectl say what it makes of it. */
function withKubectl(
  codename: string,
  schema: V1JSONSchemaProps,
  expected: V1JSONSchemaProps | undefined,
  say: (speaker: Speaker) => Promise<void>,
): Proof {
  return proof(codename, async (world) => {
    const namespace = await world.namespace();
    const created = await publish(world, schema, expected, ['v1']);
    const { group, names } = created.spec;
    const document = (fields: object) =>
      JSON.stringify({ apiVersion: `${group}/v1`, kind: names.kind, metadata: { name: 'test' }, ...fields });
    for (const version of world.cluster.kubectls) {
      const one = speaker(world, version, namespace, names, document);
      await eventually(`${names.plural} is discovered`, EXPLAINED_MS, () =>
        one.must(['get', names.plural]).then(() => true),
      );
      await say(one);
    }
    await withdraw(world, created);
  });
}

function speaker(
  world: World,
  version: KubectlVersion,
  namespace: string,
  names: { readonly plural: string; readonly kind: string },
  document: (fields: object) => string,
): Speaker {
  const input = (fields?: object) => (fields === undefined ? undefined : document(fields));
  return {
    version,
    plural: names.plural,
    kind: names.kind,
    run: async (args, fields) => {
      const { code, stdout, stderr } = await world.kubectl(version, ['-n', namespace, ...args], input(fields));
      return { code, output: `${stdout}${stderr}` };
    },
    must: (args, fields) => world.mustKubectl(version, ['-n', namespace, ...args], input(fields)),
  };
}

async function expectAccepted({ must, plural }: Speaker, fields: object): Promise<void> {
  for (const verb of ['create', 'apply']) {
    await must([verb, '-f', '-'], fields);
    await must(['delete', plural, 'test']);
  }
}

async function expectRefused({ run }: Speaker, verb: string, fields: object, why: RegExp): Promise<void> {
  const { code, output } = await run([verb, '-f', '-'], fields);
  expect(code).not.toBe(0);
  expect(output).toMatch(why);
}

/** Whichever apiserver is asked: each publishes what it has heard of. */
async function expectExplained({ must, plural }: Speaker, path: string, pattern: RegExp): Promise<void> {
  await eventually(`${plural}${path} is explained`, EXPLAINED_MS, async () => {
    expect(await must(['explain', `${plural}${path}`])).toMatch(pattern);
    return true;
  });
}

const EXPLAINED: readonly (readonly [path: string, pattern: RegExp])[] = [
  [
    '',
    /DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>.*Specification of Foo/s,
  ],
  [
    '.metadata',
    /DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*CreationTimestamp is a timestamp/s,
  ],
  ['.spec', /DESCRIPTION:.*Specification of Foo.*FIELDS:.*bars.*<\[\]Object>.*List of Bars and their specs/s],
  [
    '.spec.bars',
    /(FIELD|RESOURCE):.*bars.*<\[\]Object>.*DESCRIPTION:.*List of Bars and their specs.*FIELDS:.*bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*Name of Bar/s,
  ],
];

export const OPENAPI_KUBECTL: readonly Proof[] = [
  withKubectl(`${PUBLISH} works for CRD with validation schema [Conformance]`, FOO, FOO, async (speaker) => {
    await expectAccepted(speaker, { spec: { bars: [{ name: 'test-bar' }] } });
    const strange = { spec: { bars: [{ name: 'test-bar', feeling: 'NonExistentValue' }] } };
    await expectRefused(speaker, 'create', strange, /Unsupported value: "NonExistentValue"/);
    for (const verb of ['create', 'apply']) {
      await expectRefused(speaker, verb, { spec: { foo: true } }, /unknown field "(spec\.)?foo"/);
      const nameless = { spec: { bars: [{ age: '10' }] } };
      await expectRefused(
        speaker,
        verb,
        nameless,
        /missing required field "name"|spec\.bars\[0\]\.name: Required value/,
      );
    }
    for (const [path, pattern] of EXPLAINED) await expectExplained(speaker, path, pattern);
    await eventually('a field that is not there is said to be none', EXPLAINED_MS, async () => {
      const missing = await speaker.run(['explain', `${speaker.plural}.spec.bars2`]);
      expect(missing.code).not.toBe(0);
      return missing.output.includes('field "bars2" does not exist');
    });
  }),

  withKubectl(
    `${PUBLISH} works for CRD without validation schema [Conformance]`,
    anything(),
    { type: 'object' },
    async (speaker) => {
      await expectAccepted(speaker, { a: { b: [{ c: 'd' }] } });
      await expectExplained(speaker, '', /DESCRIPTION:.*<empty>/s);
    },
  ),

  withKubectl(
    `${PUBLISH} works for CRD preserving unknown fields at the schema root [Conformance]`,
    PRESERVING_ROOT,
    undefined,
    async (speaker) => {
      await expectAccepted(speaker, { a: { b: [{ c: 'd' }] } });
      await expectExplained(speaker, '', new RegExp(`KIND:.*${speaker.kind}`, 's'));
    },
  ),

  withKubectl(
    `${PUBLISH} works for CRD preserving unknown fields in an embedded object [Conformance]`,
    PRESERVING_NESTED,
    undefined,
    async (speaker) => {
      await expectAccepted(speaker, { spec: { a: null, b: [{ c: 'd' }] } });
      await expectExplained(speaker, '', /DESCRIPTION:.*preserve-unknown-properties in nested field for Testing/s);
    },
  ),
];
