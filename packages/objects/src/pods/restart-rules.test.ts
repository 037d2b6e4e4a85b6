import { expect, it } from 'vitest';
import { hasRestartOfAll, restartsAfterExit } from './restart-rules.ts';

const rules = (action: string, ...values: number[]) => [{ action, exitCodes: { operator: 'In', values } }];

it.each([
  ['the pod restarts', 'Always', {}, [0, 1, 42]],
  ['the pod restarts after failures', 'OnFailure', {}, [1, 42]],
  ['the pod does not restart', 'Never', {}, []],
  ['its own policy says otherwise', 'Never', { restartPolicy: 'OnFailure' }, [1, 42]],
  ['a rule restarts it', 'Never', { restartPolicy: 'Never', restartPolicyRules: rules('Restart', 42) }, [42]],
  [
    'a rule restarts all',
    'Never',
    { restartPolicy: 'Never', restartPolicyRules: rules('RestartAllContainers', 1) },
    [1],
  ],
  ['rules stand alone', 'Never', { restartPolicyRules: rules('Restart', 42) }, []],
] as const)('a container is started again where %s', (_, restartPolicy, own, restarts) => {
  const container = {
    name: 'main',
    ...own,
    ...('restartPolicyRules' in own ? { restartPolicyRules: [...own.restartPolicyRules] } : {}),
  };
  expect([0, 1, 42].filter((code) => restartsAfterExit({ restartPolicy }, container, code))).toEqual(restarts);
});

it('a pod may restart all its containers where a rule of one of them does, init containers included', () => {
  const asks = { name: 'asks', restartPolicyRules: rules('RestartAllContainers', 42) };
  const other = { name: 'other', restartPolicyRules: rules('Restart', 42) };
  expect(hasRestartOfAll({ containers: [other] })).toBe(false);
  expect(hasRestartOfAll({ containers: [other, asks] })).toBe(true);
  expect(hasRestartOfAll({ containers: [other], initContainers: [asks] })).toBe(true);
  expect(hasRestartOfAll(undefined)).toBe(false);
});
