import type { Volume } from '@gantry/objects';
import { procMount, seccompProfiles } from './baseline-checks.ts';
import {
  type CheckedContainer,
  type CheckedPod,
  containersNamed,
  containersOf,
  hasOwnUsers,
  isWindows,
  namesWhere,
  quoted,
  type SecurityCheck,
  setters,
  sorted,
  type Violation,
  word,
} from './security-check.ts';

type Rule = (pod: CheckedPod) => Violation | undefined;

const VOLUMES: readonly (keyof Volume)[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
const OTHER_VOLUMES: readonly (keyof Volume)[] = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
];

const privilegeEscalation: Rule = (pod) => {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${containersNamed(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

const capabilities: Rule = (pod) => {
  const keeping = namesWhere(
    pod,
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes('ALL') !== true,
  );
  const extra = ({ securityContext }: CheckedContainer) =>
    (securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
  const adding = namesWhere(pod, (container) => extra(container).length > 0);
  const added = quoted(sorted(containersOf(pod).flatMap(extra)));
  const details = [
    ...(keeping.length === 0 ? [] : [`${containersNamed(keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(adding.length === 0
      ? []
      : [`${containersNamed(adding)} must not include ${added} in securityContext.capabilities.add`]),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const volumes: Rule = ({ spec }) => {
  const bad = (spec.volumes ?? []).filter((volume) => VOLUMES.every((type) => volume[type] === undefined));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map((volume) => OTHER_VOLUMES.find((type) => volume[type] !== undefined) ?? 'unknown'));
  const uses = `${word('uses', bad.length, 'use')} ${word('restricted volume type', types.length)}`;
  return {
    reason: 'restricted volume types',
    detail: `${word('volume', bad.length)} ${quoted(bad.map(({ name }) => name))} ${uses} ${quoted(types)}`,
  };
};

const runAsNonRoot: Rule = (pod) => {
  const reason = 'runAsNonRoot != true';
  const own = pod.spec.securityContext?.runAsNonRoot;
  const bad = namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false);
  const who = setters(own === false, bad);
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  const silent = namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (own === true || silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersNamed(silent)} must set securityContext.runAsNonRoot=true` };
};

const runAsUser: Rule = (pod) => {
  const bad = namesWhere(pod, ({ securityContext }) => securityContext?.runAsUser === 0);
  const who = setters(pod.spec.securityContext?.runAsUser === 0, bad);
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
};

const seccomp: Rule = (pod) => {
  const bad = seccompProfiles(pod);
  if (bad !== undefined) return bad;
  const silent = namesWhere(pod, ({ securityContext }) => securityContext?.seccompProfile === undefined);
  if (pod.spec.securityContext?.seccompProfile !== undefined || silent.length === 0) return undefined;
  const types = '"RuntimeDefault" or "Localhost"';
  const detail = `pod or ${containersNamed(silent)} must set securityContext.seccompProfile.type to ${types}`;
  return { reason: 'seccompProfile', detail };
};

const unless =
  (exempt: (pod: CheckedPod) => boolean, rule: Rule): Rule =>
  (pod) =>
    exempt(pod) ? undefined : rule(pod);

/** Checks of the restricted level in addition to the baseline: current hardening practice. */
export const RESTRICTED_CHECKS: readonly SecurityCheck[] = [
  {
    id: 'allowPrivilegeEscalation',
    versions: [
      { since: 8, violation: privilegeEscalation },
      { since: 25, violation: unless(isWindows, privilegeEscalation) },
    ],
  },
  {
    id: 'capabilities_restricted',
    versions: [
      { since: 22, violation: capabilities, overrides: ['capabilities_baseline'] },
      { since: 25, violation: unless(isWindows, capabilities), overrides: ['capabilities_baseline'] },
    ],
  },
  { id: 'procMount_restricted', versions: [{ since: 35, violation: procMount, overrides: ['procMount'] }] },
  { id: 'restrictedVolumes', versions: [{ since: 0, violation: volumes, overrides: ['hostPathVolumes'] }] },
  {
    id: 'runAsNonRoot',
    versions: [
      { since: 0, violation: runAsNonRoot },
      { since: 35, violation: unless(hasOwnUsers, runAsNonRoot) },
    ],
  },
  {
    id: 'runAsUser',
    versions: [
      { since: 23, violation: runAsUser },
      { since: 35, violation: unless(hasOwnUsers, runAsUser) },
    ],
  },
  {
    id: 'seccompProfile_restricted',
    versions: [
      { since: 19, violation: seccomp, overrides: ['seccompProfile_baseline'] },
      { since: 25, violation: unless(isWindows, seccomp), overrides: ['seccompProfile_baseline'] },
    ],
  },
];
