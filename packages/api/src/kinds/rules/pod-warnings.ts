import type { Container, PodSpec, PodTemplateSpec } from '../../generated/types.ts';
import { equalJson } from '../../object.ts';
import { parseQuantity } from '../../quantity.ts';

const NANO_PER_BYTE = 1_000_000_000n;
const BYTES: ReadonlySet<string> = new Set(['memory', 'ephemeral-storage']);
const OLD_LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};

/** What a pod or template says that is allowed and most likely not meant. */
export function podWarnings(spec: PodSpec | undefined, path: string): string[] {
  if (spec === undefined) return [];
  const warnings: string[] = [];
  for (const label of Object.keys(spec.nodeSelector ?? {})) {
    const advice = OLD_LABELS[label];
    if (advice !== undefined) warnings.push(`${path}.nodeSelector[${label}]: ${advice}`);
  }
  warnings.push(...pullSecretWarnings(spec, `${path}.imagePullSecrets`));
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    warnings.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
  for (const field of ['initContainers', 'containers'] as const) {
    (spec[field] ?? []).forEach((container, i) => {
      warnings.push(...containerWarnings(container, `${path}.${field}[${i}]`));
    });
  }
  return warnings;
}

/** The same for a template, when it is new or changed: Kubernetes does not repeat itself. */
export function templateWarnings(
  template: PodTemplateSpec | undefined,
  old: PodTemplateSpec | undefined,
  path: string,
): string[] {
  return old !== undefined && equalJson(template, old) ? [] : podWarnings(template?.spec, `${path}.spec`);
}

function pullSecretWarnings({ imagePullSecrets = [] }: PodSpec, path: string): string[] {
  return imagePullSecrets.flatMap(({ name = '' }, i) => {
    if (name === '') return [`${path}[${i}].name: invalid empty name ""`];
    const again = imagePullSecrets.findIndex((other) => other.name === name) < i;
    return again ? [`${path}[${i}].name: duplicate name ${JSON.stringify(name)}`] : [];
  });
}

function containerWarnings({ env = [], ports = [], resources }: Container, path: string): string[] {
  const warnings: string[] = [];
  env.forEach(({ name }, i) => {
    if (env.findIndex((other) => other.name === name) < i) {
      warnings.push(
        `${path}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
    }
  });
  ports.forEach(({ containerPort, protocol, hostPort = 0, hostIP = '' }, i) => {
    const first = ports.findIndex(
      (other) =>
        other.containerPort === containerPort &&
        other.protocol === protocol &&
        (other.hostPort ?? 0) === hostPort &&
        (other.hostIP ?? '') === hostIP,
    );
    if (first < i) warnings.push(`${path}.ports[${i}]: duplicate port definition with ${path}.ports[${first}]`);
  });
  for (const list of ['limits', 'requests'] as const) {
    for (const [name, amount] of Object.entries(resources?.[list] ?? {})) {
      if (BYTES.has(name) && parseQuantity(amount).nano % NANO_PER_BYTE !== 0n) {
        const value = JSON.stringify(amount);
        warnings.push(
          `${path}.resources.${list}[${name}]: fractional byte value ${value} is invalid, must be an integer`,
        );
      }
    }
  }
  return warnings;
}
