import { expect, it } from 'vitest';
import type { PodSpec } from '@gantry/objects';
import { podWarnings, templateWarnings } from './warnings.ts';

const container = { name: 'c', image: 'i' };

/** The warnings about a pod with these fields. */
function said(spec: Partial<PodSpec>, annotations: Record<string, string> = {}): string[] {
  return podWarnings({ metadata: { annotations }, spec: { containers: [container], ...spec } }, '');
}

it('warns of what is said twice or in vain', () => {
  const warnings = said({
    terminationGracePeriodSeconds: -1,
    nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
    imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}],
    hostAliases: [{ ip: '1.2.3.4' }, { ip: '1.2.3.4' }],
    overhead: { memory: '100m' },
    dnsConfig: { nameservers: ['::ffff:1.2.3.4'] },
  });
  expect(warnings).toEqual([
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
    'spec.overhead[memory]: fractional byte value "100m" is invalid, must be an integer',
    'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    'spec.dnsConfig.nameservers[0]: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
  ]);
});

it('looks into containers', () => {
  const first = {
    ...container,
    env: [
      { name: 'A', value: '1' },
      { name: 'A', value: '$(A)2' },
      { name: 'A', value: '3' },
    ],
    ports: [
      { name: 'p', containerPort: 80, protocol: 'TCP' },
      { containerPort: 80, protocol: 'UDP' },
      { containerPort: 80, protocol: 'TCP', hostPort: 8080 },
      { containerPort: 81, protocol: 'TCP', hostIP: '1.2.3.4' },
    ],
    resources: { requests: { memory: '100m', cpu: '100m' } },
  };
  const second = { name: 'd', image: 'i', ports: [{ name: 'p', containerPort: 80, protocol: 'TCP' }] };
  expect(said({ containers: [first, second] })).toEqual([
    'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
    'spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]',
    'spec.containers[0].ports[3]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:81 Protocol:TCP HostIP:1.2.3.4}',
    'spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]',
    'spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[2]',
    'spec.containers[1].ports[0]: duplicate port name "p" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
  ]);
});

it('looks into volumes', () => {
  const warnings = said({
    volumes: [
      { name: 'old', rbd: { image: 'i', monitors: ['m'] } },
      {
        name: 'v',
        configMap: {
          name: 'cm',
          items: [
            { key: 'a', path: 'x' },
            { key: 'b', path: 'x/y' },
          ],
        },
      },
      {
        name: 'p',
        projected: {
          sources: [
            { serviceAccountToken: { path: 't' } },
            { secret: { name: 's', items: [{ key: 'k', path: 't/' }] } },
            {},
          ],
        },
      },
    ],
  });
  expect(warnings).toEqual([
    'spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+',
    'volume "v" (ConfigMap "cm"): overlapping paths: "x/y" with "x"',
    'volume "p" (Projected) has no sources provided',
    'volume "p" (Projected): overlapping paths: "t" (Secret "s") with "t" (ServiceAccountToken)',
  ]);
});

it('looks at where pods may go', () => {
  const preference = { matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'In', values: ['not valid'] }] };
  const warnings = said({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
    affinity: {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] },
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'zone' } }],
      },
    },
  });
  const nodes = 'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference';
  const nobody = 'a null labelSelector results in matching no pod';
  expect(warnings).toEqual([
    `${nodes}.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead`,
    expect.stringContaining(`${nodes}.matchExpressions[0].values[0]: not valid is invalid, a valid label must be`),
    `spec.topologySpreadConstraints[0].labelSelector: ${nobody}`,
    `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: ${nobody}`,
    `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: ${nobody}`,
  ]);
});

it('knows annotations that have become fields', () => {
  const annotations = {
    'scheduler.alpha.kubernetes.io/critical-pod': '',
    'seccomp.security.alpha.kubernetes.io/pod': 'x',
    'container.seccomp.security.alpha.kubernetes.io/c': 'x',
    'container.apparmor.security.beta.kubernetes.io/c': 'unconfined',
  };
  const critical = 'non-functional in v1.16+; use the "priorityClassName" field instead';
  const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
  expect(said({}, annotations)).toEqual([
    `metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: ${critical}`,
    `metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: ${seccomp}`,
    `metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: ${seccomp}`,
  ]);
  const template = { metadata: { annotations }, spec: { containers: [container] } };
  expect(templateWarnings(template, undefined, 'spec.template').at(-1)).toBe(
    'spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead',
  );
  const unconfined = { ...template.spec, securityContext: { appArmorProfile: { type: 'Unconfined' } } };
  expect(templateWarnings({ ...template, spec: unconfined }, undefined, 'spec.template')).toHaveLength(3);
  expect(templateWarnings(template, template, 'spec.template')).toEqual([]);
});

it('has nothing to say of an ordinary pod', () => {
  expect(said({})).toEqual([]);
  expect(podWarnings({}, '')).toEqual([]);
});
