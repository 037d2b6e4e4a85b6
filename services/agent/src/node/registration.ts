import {
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_OS_LABEL,
  HOSTNAME_LABEL,
  isAgentsLabel,
  labelValue,
  OS_LABEL,
  qualifiedName,
  type Taint,
} from '@gantry/objects';

/** An administrator's settings for a new Node. */
export interface Registration {
  /** Labels for region and zone override the agent's own ones, also later. */
  readonly labels: Readonly<Record<string, string>>;
  /** Effective from the creation of the Node, until a client removes them. */
  readonly taints: readonly Taint[];
}

export const PLAIN_REGISTRATION: Registration = { labels: {}, taints: [] };

/** An invalid label or taint in the settings. */
export class RegistrationError extends Error {
  override readonly name = 'RegistrationError';
}

/** Labels that describe the node. The scheduler and the node's volumes rely on them. */
const DESCRIPTIONS: ReadonlySet<string> = new Set([
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_OS_LABEL,
  HOSTNAME_LABEL,
  OS_LABEL,
]);
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Labels in the form of the kubelet's `--node-labels`: `key=value`. Throws RegistrationError. */
export function parseNodeLabels(entries: readonly string[]): Readonly<Record<string, string>> {
  const labels = new Map<string, string>();
  for (const entry of entries) {
    const [key = '', value, ...more] = entry.split('=');
    if (value === undefined || more.length > 0) throw refused(entry, 'is not of the form key=value');
    check(entry, [...qualifiedName(key), ...labelValue(value)]);
    if (DESCRIPTIONS.has(key)) throw refused(entry, 'is a label that the agent finds out');
    if (!isAgentsLabel(key)) throw refused(entry, 'is a label that an agent may not set on its Node');
    if (labels.has(key)) throw refused(entry, 'is the second value of its label');
    labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

/** Taints in the form of the kubelet's `--register-with-taints`: `key=value:effect` or `key:effect`. Throws RegistrationError. */
export function parseTaints(entries: readonly string[]): readonly Taint[] {
  const taints = new Map<string, Taint>();
  for (const entry of entries) {
    const [, key = '', value, effect = ''] = /^([^=:]*)(?:=([^=:]*))?:([^=:]*)$/.exec(entry) ?? [];
    if (!EFFECTS.includes(effect)) {
      throw refused(entry, `is not of the form key=value:effect with one of the effects ${EFFECTS.join(', ')}`);
    }
    check(entry, [...qualifiedName(key), ...labelValue(value ?? '')]);
    const identity = `${key}:${effect}`;
    if (taints.has(identity)) throw refused(entry, 'is the second taint with its key and effect');
    taints.set(identity, { key, effect, value });
  }
  return [...taints.values()];
}

function check(entry: string, errors: readonly string[]): void {
  if (errors.length > 0) throw refused(entry, errors.join('; '));
}

function refused(entry: string, reason: string): RegistrationError {
  return new RegistrationError(`${JSON.stringify(entry)} ${reason}`);
}
