import { expect, it } from 'vitest';
import { ENGINE, pod } from '../testing/pods.ts';
import { podRejection } from './pod-rejection.ts';

it('limits of a pod as a whole are refused, its requests are not', () => {
  expect(podRejection(pod({ resources: { limits: { memory: '64Mi' } } }), ENGINE)).toEqual({
    reason: 'PodLevelResourcesNotSupported',
    message: 'this node does not enforce spec.resources.limits of a pod: set limits of its containers',
  });
  expect(podRejection(pod({ resources: { requests: { memory: '64Mi' } } }), ENGINE)).toBeUndefined();
});

it("of several reasons the first in kubelet's order is named", () => {
  const limits = { resources: { limits: { memory: '64Mi' } } };
  const profile = { appArmorProfile: { type: 'RuntimeDefault' } };
  const sysctls = [{ name: 'kernel.msgmax', value: '1' }];
  const reasons = [
    pod({ ...limits, securityContext: { ...profile, sysctls } }),
    pod({ ...limits, securityContext: profile }),
    pod({ ...limits }),
  ].map((one) => podRejection(one, { ...ENGINE, appArmor: 'disabled' })?.reason);
  expect(reasons).toEqual(['SysctlForbidden', 'AppArmor', 'PodLevelResourcesNotSupported']);
});
