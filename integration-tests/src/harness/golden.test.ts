import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Request {
  readonly body?: string;
}

interface Snapshot {
  readonly events?: readonly string[];
  readonly replicasets?: readonly object[];
}

interface Golden {
  normalise(value: unknown): unknown;
  withoutSteps(answer: { readonly code: number; readonly body: Snapshot }): unknown;
  runScenario(
    call: (
      method: string,
      path: string,
      request?: Request,
    ) => Promise<{ readonly code: number; readonly text: string }>,
    scenario: { readonly steps: readonly object[] },
    each: () => void,
  ): Promise<void>;
}

const FOLDER = new URL('../../golden/', import.meta.url);
const { normalise, runScenario, withoutSteps } = (await import(new URL('lib.mjs', FOLDER).href)) as Golden;

/** Every form in which Kubernetes prints an age: one unit or two, from seconds to years. */
const AGES = ['0s', '119s', '2m5s', '9m', '179m', '3h5m', '7h', '47h', '2d4h', '7d', '729d', '2y3d', '7y', '8y'];

/** The texts of all table cells in a value. */
function cellsOf(value: unknown): readonly string[] {
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap(cellsOf);
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'cells' && Array.isArray(inner)
      ? inner.filter((cell) => typeof cell === 'string')
      : cellsOf(inner as unknown),
  );
}

it.each([...AGES, '<invalid>'])('a table cell with the age %s is not compared', (age) => {
  expect(normalise({ cells: ['name', age] })).toEqual({ cells: ['name', '<age>'] });
});

it('no recorded table holds an age, which would grow with the calendar', () => {
  const cells = globSync('*.jsonl', { cwd: FOLDER }).flatMap((file) =>
    readFileSync(new URL(file, FOLDER), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line) => cellsOf(JSON.parse(line))),
  );
  expect(cells).toContain('<age>');
  expect(cells.filter((cell) => /^(?:\d+(?:s|m|h|d|y)){1,2}$/.test(cell) || /\bago\b/.test(cell))).toEqual([]);
});

/** A snapshot after a rollout that took these steps down. */
const rolledOut = (steps: readonly string[], observedGeneration: number, up = '0 to 4') => ({
  code: 200,
  body: {
    events: [
      '[replicaset-controller] Normal SuccessfulDelete ReplicaSet/site: Deleted pod: site-<x>',
      ...steps.map((step) => `[deployment-controller] Normal ScalingReplicaSet Deployment/site: ${step}`),
      `[deployment-controller] Normal ScalingReplicaSet Deployment/site: Scaled up replica set site-<hash> from ${up}`,
    ],
    replicasets: [{ name: 'site', generation: 1 + steps.length, status: { observedGeneration, replicas: 0 } }],
  },
});
const ONE_BY_ONE = [
  'Scaled down replica set site-<hash> from 4 to 3',
  'Scaled down replica set site-<hash> from 3 to 2',
  'Scaled down replica set site-<hash> from 2 to 1',
  '(combined from similar events): Scaled down replica set site-<hash> from 1 to 0',
];

it('a rollout whose pods became ready together is the same without its steps, and one that is not over is not', () => {
  const together = [...ONE_BY_ONE.slice(0, 2), 'Scaled down replica set site-<hash> from 2 to 0'];
  const expected = withoutSteps(rolledOut(ONE_BY_ONE, 5));
  expect(withoutSteps(rolledOut(together, 4))).toEqual(expected);
  expect(withoutSteps(rolledOut(ONE_BY_ONE.slice(0, 3), 4))).not.toEqual(expected);
  expect(withoutSteps(rolledOut(together, 3))).not.toEqual(expected);
  expect(withoutSteps(rolledOut(together, 4, '0 to 5'))).not.toEqual(expected);
});

it('the pods of a conversation have the state of a mode before the next one begins', async () => {
  const pods = ['a', 'b', 'c'].map((name) => ({
    metadata: { name },
    spec: { containers: [] },
    status: { phase: 'Pending' },
  }));
  const call = async (method: string, path: string, { body = '' }: Request = {}) => {
    const pod = pods.find(({ metadata }) => path.endsWith(`/${metadata.name}/status`));
    if (method === 'PATCH' && pod !== undefined) Object.assign(pod, JSON.parse(body));
    return await Promise.resolve({ code: 200, text: JSON.stringify({ items: pods }) });
  };
  const steps = ['unready', 'off'].map((mode) => ({ method: 'KUBELET', mode }));
  await runScenario(call, { steps }, () => undefined);
  expect(pods.map(({ status }) => status.phase)).toEqual(['Running', 'Running', 'Running']);
});
