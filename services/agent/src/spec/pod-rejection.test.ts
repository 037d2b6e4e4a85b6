import { expect, it } from 'vitest';
import { ENGINE, pod } from '../testing/pods.ts';
import { podRejection } from './pod-rejection.ts';

it.each([
  ['driver', 'its engine leaves control groups to systemd'],
  ['unreachable', "its agent cannot write the engine's control groups"],
] as const)('pod-level limits are refused where nothing enforces them: %s', (podGroups, why) => {
  const engine = { ...ENGINE, podGroups };
  expect(podRejection(pod({ resources: { limits: { memory: '64Mi' } } }), engine)).toEqual({
    reason: 'PodLevelResourcesNotSupported',
    message: `this node does not enforce spec.resources.limits of a pod, since ${why}: set limits of its containers`,
  });
  expect(podRejection(pod({ resources: { limits: { memory: '64Mi' } } }), ENGINE)).toBeUndefined();
  expect(podRejection(pod({ resources: { requests: { memory: '64Mi' } } }), engine)).toBeUndefined();
});

it("of several reasons the first in kubelet's order is named", () => {
  const limits = { resources: { limits: { memory: '64Mi' } } };
  const profile = { appArmorProfile: { type: 'RuntimeDefault' } };
  const sysctls = [{ name: 'kernel.msgmax', value: '1' }];
  const reasons = [
    pod({ ...limits, securityContext: { ...profile, sysctls } }),
    pod({ ...limits, securityContext: profile }),
    pod({ ...limits }),
  ].map((one) => podRejection(one, { ...ENGINE, appArmor: 'disabled', podGroups: 'driver' })?.reason);
  expect(reasons).toEqual(['SysctlForbidden', 'AppArmor', 'PodLevelResourcesNotSupported']);
});
