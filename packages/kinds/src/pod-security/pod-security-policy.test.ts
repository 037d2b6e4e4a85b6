import { describe, expect, it } from 'vitest';
import type { PodSpec } from '@gantry/objects';
import { formatViolations, type LevelVersion, podSecurityOf, podSecurityViolations } from './pod-security-policy.ts';

const level = (text: string): LevelVersion => {
  const [name = '', version = 'latest'] = text.split(':');
  return {
    level: name as LevelVersion['level'],
    version: version === 'latest' ? version : Number(version.replace('v1.', '')),
  };
};
const judge = (text: string, spec: object, annotations: Record<string, string> = {}) =>
  formatViolations(podSecurityViolations(level(text), { metadata: { annotations }, spec: spec as PodSpec }));
const container = (securityContext: object = {}, rest: object = {}) => ({ name: 'c', securityContext, ...rest });
const pod = (...containers: object[]) => ({ containers });
const SAFE = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

describe('pod security standards', () => {
  it.each([
    ['baseline', pod(container()), ''],
    ['baseline', { ...pod(), hostNetwork: true, hostIPC: true }, 'host namespaces (hostNetwork=true, hostIPC=true)'],
    [
      'baseline',
      pod(container({ privileged: true })),
      'privileged (container "c" must not set securityContext.privileged=true)',
    ],
    [
      'baseline',
      pod(container({ capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] } }), { ...container(), name: 'd' }),
      'non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'baseline',
      pod({ name: 'a', ports: [{ hostPort: 80 }] }, { name: 'b', ports: [{ hostPort: 8080 }] }),
      'hostPort (containers "a", "b" use hostPorts 80, 8080)',
    ],
    ['baseline', { ...pod(), volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 'hostPath volumes (volume "v")'],
    [
      'baseline',
      {
        ...pod(container({ seccompProfile: { type: 'Unconfined' } })),
        securityContext: { seccompProfile: { type: 'Unconfined' } },
      },
      'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'baseline',
      pod(container({ seLinuxOptions: { type: 'x_t', user: 'u' } })),
      'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "x_t"; user may not be set)',
    ],
    ['baseline', pod(container({ seLinuxOptions: { type: 'container_engine_t' } })), ''],
    [
      'baseline:v1.30',
      pod(container({ seLinuxOptions: { type: 'container_engine_t' } })),
      'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
    ],
    [
      'baseline',
      { ...pod(), securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem' }, { name: 'kernel.msgmax' }] } },
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      'baseline:v1.31',
      { ...pod(), securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem' }] } },
      'forbidden sysctls (net.ipv4.tcp_rmem)',
    ],
    [
      'baseline',
      pod(container({}, { livenessProbe: { httpGet: { host: 'h' } } })),
      'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    ],
    ['baseline:v1.33', pod(container({}, { livenessProbe: { httpGet: { host: 'h' } } })), ''],
    [
      'baseline',
      pod(container({ procMount: 'Unmasked' })),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    ['baseline', { ...pod(container({ procMount: 'Unmasked' })), hostUsers: false }, ''],
    [
      'restricted',
      { ...pod(container({ ...SAFE, procMount: 'Unmasked' })), hostUsers: false },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'baseline',
      { ...pod(), securityContext: { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    ['restricted', pod(container(SAFE)), ''],
    [
      'restricted',
      pod(container()),
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
        'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ' +
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
        'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      'restricted',
      pod(
        container({ ...SAFE, runAsUser: 0, runAsNonRoot: false, capabilities: { drop: ['ALL'], add: ['SYS_TIME'] } }),
      ),
      'unrestricted capabilities (container "c" must not include "SYS_TIME" in securityContext.capabilities.add), ' +
        'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false), ' +
        'runAsUser=0 (container "c" must not set runAsUser=0)',
    ],
    [
      'restricted',
      {
        ...pod(container(SAFE)),
        volumes: [
          { name: 'a', emptyDir: {} },
          { name: 'b', hostPath: {} },
          { name: 'c', nfs: {} },
        ],
      },
      'restricted volume types (volumes "b", "c" use restricted volume types "hostPath", "nfs")',
    ],
    ['restricted', { ...pod(container({ runAsNonRoot: true })), os: { name: 'windows' } }, ''],
    ['restricted:v1.7', pod(container({ runAsNonRoot: true })), ''],
  ])('%s of %j: %s', (text, spec, told) => {
    expect(judge(text, spec)).toBe(told);
  });

  it('reads annotations of old', () => {
    const key = 'container.apparmor.security.beta.kubernetes.io/c';
    expect(judge('baseline', pod(container()), { [key]: 'unconfined' })).toBe(
      `forbidden AppArmor profile (annotation must not set AppArmor profile type to "${key}="unconfined"")`,
    );
    const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
    expect(judge('baseline:v1.18', pod(), { [seccomp]: 'unconfined' })).toBe(
      `seccompProfile (forbidden annotation ${seccomp}="unconfined")`,
    );
  });
});

describe('labels of a namespace', () => {
  const p = 'pod-security.kubernetes.io/';
  it.each([
    [{}, 'privileged', 'privileged', []],
    [{ [`${p}enforce`]: 'baseline' }, 'baseline', 'baseline', []],
    [{ [`${p}enforce`]: 'baseline', [`${p}warn`]: 'privileged' }, 'baseline', 'privileged', []],
    [{ [`${p}enforce`]: 'baseline', [`${p}warn`]: 'restricted' }, 'baseline', 'restricted', []],
    [{ [`${p}enforce`]: 'x' }, 'restricted', 'privileged', [`metadata.labels[${p}enforce]`]],
    [
      { [`${p}warn`]: 'x', [`${p}audit-version`]: '1.2' },
      'privileged',
      'privileged',
      [`metadata.labels[${p}audit-version]`, `metadata.labels[${p}warn]`],
    ],
  ])('%j', (labels, enforce, warn, fields) => {
    const { policy, errors } = podSecurityOf(labels);
    expect([policy.enforce.level, policy.warn.level]).toEqual([enforce, warn]);
    expect(errors.map(({ field }) => field)).toEqual(fields);
  });
});
