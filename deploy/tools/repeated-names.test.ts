import { expect, it } from 'vitest';
import { repeatedNames } from './repeated-names.ts';

const named = (texts: Readonly<Record<string, string>>) =>
  repeatedNames(Object.entries(texts).map(([path, text]) => ({ path, text }))).map(
    ({ name, places }) => `${name}: ${places.map(({ path, line }) => `${path}:${line}`).join(', ')}`,
  );

it('reports a name that two files write out, with all its places', () => {
  const one = "const ZONE = 'topology.kubernetes.io/zone';\nconst again = `topology.kubernetes.io/zone`;";
  const other = "\nconst labels = { 'topology.kubernetes.io/zone': 'a' };";
  expect(named({ 'a.ts': one, 'b.ts': other })).toEqual(['topology.kubernetes.io/zone: a.ts:1, a.ts:2, b.ts:2']);
});

it.each([
  ['in a type', "type Label = 'kubernetes.io/os';"],
  ['in a case', "switch (a) { case 'kubernetes.io/os': }"],
  ['as an index', "labels['kubernetes.io/os'];"],
])('a literal counts %s', (_, text) => {
  expect(named({ 'a.ts': "const OS = 'kubernetes.io/os';", 'b.ts': text })).toEqual([
    'kubernetes.io/os: a.ts:1, b.ts:1',
  ]);
});

it.each([
  ['container.seccomp.security.alpha.kubernetes.io/', 1],
  ['gantry.dev/engine', 1],
  ['audit.gantry.dev/omitted', 1],
  ['kubernetes.io/', 0],
  ['kubernetes.io', 0],
  ['metrics.gantry.dev/v1beta1', 0],
  ['akubernetes.io/os', 0],
  ['example.org/os', 0],
])('%s is reported %i times', (name, times) => {
  const text = `const NAME = '${name}';`;
  expect(named({ 'a.ts': text, 'b.ts': text })).toHaveLength(times);
});

it('a name may stand in one file twice, within other texts, and in comments', () => {
  expect(
    named({
      'a.ts': "const [OS, SAME] = ['kubernetes.io/os', 'kubernetes.io/os'];",
      'b.ts':
        "// 'kubernetes.io/os'\nthrow because('the label kubernetes.io/os is missing', \"use 'kubernetes.io/os'\");",
      'c.ts': 'const selector = `kubernetes.io/os=${os}`;',
      'd.ts': "const PATH = '/var/run/kubernetes.io/os';",
    }),
  ).toEqual([]);
});
