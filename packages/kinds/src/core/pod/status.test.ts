import type { Container, ContainerStatus, Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { validatePodStatusChange } from './status.ts';

type List = 'containers' | 'initContainers' | 'ephemeralContainers';

const STATUSES = {
  containers: 'containerStatuses',
  initContainers: 'initContainerStatuses',
  ephemeralContainers: 'ephemeralContainerStatuses',
} as const;

/** The errors of a status in which a container that ended with this exit code runs again. */
function errorsOf(
  list: List,
  restartPolicy: string,
  own: Partial<Container>,
  exitCode: number,
  other: Partial<Container> = {},
) {
  const status: ContainerStatus = { name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0 };
  const podWith = (state: ContainerStatus['state']): Pod => {
    const main: Container = { name: 'main', ...own };
    const spec = { restartPolicy, containers: [{ name: 'other', ...other }] };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { ...spec, [list]: list === 'containers' ? [main, ...spec.containers] : [main] },
      status: { [STATUSES[list]]: [{ ...status, ...(state === undefined ? {} : { state }) }] },
    };
  };
  const ended = podWith({ terminated: { exitCode } });
  expect(validatePodStatusChange(ended, ended)).toEqual([]);
  return validatePodStatusChange(podWith({ running: {} }), ended).map(({ field, detail }) => `${field} ${detail}`);
}

const rule = (action: string): Partial<Container> => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [42] } }],
});
const REFUSED = (list: List) => [`status.${STATUSES[list]}[0].state may not be transitioned to non-terminated state`];

it.each<[List, string, Partial<Container>, number, boolean]>([
  ['containers', 'Always', {}, 0, true],
  ['containers', 'OnFailure', {}, 1, true],
  ['containers', 'OnFailure', {}, 0, false],
  ['containers', 'Never', {}, 1, false],
  ['containers', 'Never', rule('Restart'), 42, true],
  ['containers', 'Never', rule('Restart'), 1, false],
  ['containers', 'Always', { restartPolicy: 'Never' }, 1, false],
  ['initContainers', 'Never', { restartPolicy: 'Always' }, 1, true],
  ['initContainers', 'Never', {}, 1, false],
  ['ephemeralContainers', 'Always', {}, 1, false],
])(
  '%s of a pod with the policy %s and their own %j, ended with %d, come back: %s',
  (list, policy, own, code, comesBack) => {
    expect(errorsOf(list, policy, own, code)).toEqual(comesBack ? [] : REFUSED(list));
  },
);

it('any container comes back in a pod of which one may restart all, but no ephemeral one', () => {
  const asks = rule('RestartAllContainers');
  expect(errorsOf('containers', 'Never', {}, 0, asks)).toEqual([]);
  expect(errorsOf('initContainers', 'Never', {}, 0, asks)).toEqual([]);
  expect(errorsOf('ephemeralContainers', 'Never', {}, 0, asks)).toEqual(REFUSED('ephemeralContainers'));
});
