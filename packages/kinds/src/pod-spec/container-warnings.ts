import {
  APP_ARMOR_PREFIX,
  type Container,
  type ContainerPort,
  type EnvVar,
  equalJson,
  parseQuantity,
  type PodSpec,
  repeatedAt,
  SECCOMP_PREFIX,
} from '@gantry/objects';
import { appArmorProfileOf, oldAppArmorWarning } from './app-armor.ts';
import type { Placed } from './each-container.ts';

const NANO_PER_BYTE = 1_000_000_000n;
const BYTES = ['memory', 'ephemeral-storage'] as const;

/** Warnings about fractional amounts of bytes. */
export function fractionalBytes(amounts: Readonly<Record<string, string>> | undefined, path: string): string[] {
  return BYTES.flatMap((name) => {
    const amount = amounts?.[name];
    if (amount === undefined || parseQuantity(amount).nano % NANO_PER_BYTE === 0n) return [];
    return [`${path}[${name}]: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`];
  });
}

interface Around {
  readonly annotations: Readonly<Record<string, string>>;
  readonly annotationsPath: string;
  /** The spec of the template that the container is in; absent in a pod. */
  readonly template?: PodSpec;
}

export function containerWarnings(container: Container, path: string, around: Around): string[] {
  const { limits, requests } = container.resources ?? {};
  return [
    ...annotationWarnings(container, around),
    ...BYTES.flatMap((name) =>
      [
        ['limits', limits],
        ['requests', requests],
      ].flatMap(([list, amounts]) => {
        const one = (amounts as Record<string, string> | undefined)?.[name];
        return one === undefined ? [] : fractionalBytes({ [name]: one }, `${path}.resources.${String(list)}`);
      }),
    ),
    ...envWarnings(container.env ?? [], `${path}.env`),
  ];
}

function annotationWarnings({ name, securityContext }: Container, around: Around): string[] {
  const { annotations, annotationsPath, template } = around;
  const warnings: string[] = [];
  const seccomp = `${SECCOMP_PREFIX}${name}`;
  if (seccomp in annotations && securityContext?.seccompProfile === undefined) {
    warnings.push(`${annotationsPath}[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`);
  }
  const appArmor = `${APP_ARMOR_PREFIX}${name}`;
  const profile = annotations[appArmor];
  if (template === undefined || profile === undefined || securityContext?.appArmorProfile !== undefined)
    return warnings;
  const ofPod = template.securityContext?.appArmorProfile;
  if (ofPod === undefined || !equalJson(ofPod, appArmorProfileOf(profile))) {
    warnings.push(oldAppArmorWarning(annotationsPath, appArmor));
  }
  return warnings;
}

/** Warns about a repeated variable, whose second value hides the first, unless it refers to it. */
function envWarnings(env: readonly EnvVar[], path: string): string[] {
  const isRepeated = repeatedAt(env.map(({ name = '' }) => name));
  return env.flatMap(({ name = '', value = '', valueFrom }, i) => {
    if (!isRepeated(i)) return [];
    const before = `$(${name})`;
    if (valueFrom === undefined && value !== before && value.includes(before)) return [];
    return [
      `${path}[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
    ];
  });
}

/** The maximum number of warnings that are computed; headers hold far fewer. */
const MAX_TOLD = 1000;
/** The number of ports with one number that are compared with later ones: each pair may be a warning. */
const MAX_COMPARED = 100;

/** Warns about ports of containers that are, or may be, the same. */
export function portWarnings(containers: Placed): string[] {
  const warnings: string[] = [];
  const seen = new Map<string, { readonly at: string; readonly port: ContainerPort }[]>();
  for (const [{ ports = [] }, path] of containers) {
    ports.forEach((port, i) => {
      const at = `${path}.ports[${i}]`;
      const { hostPort = 0, hostIP = '' } = port;
      if (hostIP !== '' && hostPort === 0) warnings.push(`${at}: hostIP set without hostPort: ${goPort(port)}`);
      const key = `${port.containerPort}/${port.protocol ?? ''}`;
      const others = seen.get(key) ?? [];
      seen.set(key, others);
      for (const other of warnings.length < MAX_TOLD ? others : []) {
        const how = clash(port, other.port);
        if (how !== undefined) warnings.push(`${at}: ${how} port definition with ${other.at}`);
      }
      if (others.length < MAX_COMPARED) others.push({ at, port });
    });
  }
  return warnings;
}

function clash(port: ContainerPort, other: ContainerPort): string | undefined {
  const [hostPort, otherPort] = [port.hostPort ?? 0, other.hostPort ?? 0];
  const [hostIp, otherIp] = [port.hostIP ?? '', other.hostIP ?? ''];
  if (hostIp === otherIp && hostPort === otherPort) return 'duplicate';
  if (hostPort === 0 || otherPort === 0) return 'overlapping';
  return hostPort === otherPort && (hostIp === '') !== (otherIp === '') ? 'dangerously ambiguous' : undefined;
}

/** A port as Go prints it. */
function goPort({ name = '', hostPort = 0, containerPort, protocol = '', hostIP = '' }: ContainerPort): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
}

/** Warns about port names that several containers use. */
export function portNameWarnings(containers: Placed): string[] {
  const first = new Map<string, string>();
  return containers.flatMap(([{ ports = [] }, path]) =>
    ports.flatMap(({ name = '' }, i) => {
      const at = `${path}.ports[${i}]`;
      const other = first.get(name);
      if (name === '') return [];
      if (other === undefined) {
        first.set(name, at);
        return [];
      }
      const text = `duplicate port name ${JSON.stringify(name)} with ${other}`;
      return [`${at}: ${text}, services and probes that select ports by name will use ${other}`];
    }),
  );
}
