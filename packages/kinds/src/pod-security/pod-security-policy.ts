import { type FieldError, invalid } from '@gantry/objects';
import { BASELINE_CHECKS } from './baseline-checks.ts';
import { RESTRICTED_CHECKS } from './restricted-checks.ts';
import type { CheckedPod, SecurityCheck, VersionedCheck, Violation } from './security-check.ts';

export type SecurityLevel = 'privileged' | 'baseline' | 'restricted';

/** A Pod Security Standard as of a minor version of Kubernetes 1. */
export interface LevelVersion {
  readonly level: SecurityLevel;
  readonly version: number | 'latest';
}

/** The levels that a namespace requires of its pods. */
export interface PodSecurityPolicy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

const PREFIX = 'pod-security.kubernetes.io/';
const LEVELS: readonly SecurityLevel[] = ['privileged', 'baseline', 'restricted'];
const LEVEL_DETAIL = `must be one of ${LEVELS.join(', ')}`;
const VERSION_DETAIL = 'must be "latest" or "v1.x"';
const PRIVILEGED: LevelVersion = { level: 'privileged', version: 'latest' };

/** The strictness of a level as an ascending number. */
export function strictness(level: SecurityLevel): number {
  return LEVELS.indexOf(level);
}

/** `baseline:v1.24`, `restricted:latest`. */
export function formatLevel({ level, version }: LevelVersion): string {
  return `${level}:${version === 'latest' ? version : `v1.${version}`}`;
}

/** The policy in a namespace's labels, and the errors in them. An invalid label is enforced as the strictest level. */
export function podSecurityOf(labels: Readonly<Record<string, string>>): {
  readonly policy: PodSecurityPolicy;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const complain = (name: string, value: string, detail: string) =>
    errors.push(invalid(`metadata.labels[${PREFIX}${name}]`, value, detail));
  const read = (mode: 'enforce' | 'audit' | 'warn'): LevelVersion & { readonly wrong: boolean } => {
    const [level, version] = [labels[PREFIX + mode], labels[`${PREFIX}${mode}-version`]];
    const known = LEVELS.find((one) => one === level);
    const wrong = level !== undefined && known === undefined;
    if (wrong) complain(mode, level, LEVEL_DETAIL);
    const minor = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(version ?? '')?.[1];
    if (version !== undefined && version !== 'latest' && minor === undefined) {
      complain(`${mode}-version`, version, VERSION_DETAIL);
    }
    return {
      level: known ?? (wrong && mode === 'enforce' ? 'restricted' : 'privileged'),
      version: minor === undefined ? 'latest' : Number(minor),
      wrong,
    };
  };
  const { wrong, ...enforce } = read('enforce');
  const { wrong: _audit, ...audit } = read('audit');
  const { wrong: _warn, ...warn } = read('warn');
  const follows = labels[`${PREFIX}warn`] === undefined && !wrong && strictness(enforce.level) > strictness(warn.level);
  const version = labels[`${PREFIX}warn-version`] === undefined ? enforce.version : warn.version;
  return { policy: { enforce, audit, warn: follows ? { level: enforce.level, version } : warn }, errors };
}

/** Whether the policy requires nothing. */
export function isPrivileged({ enforce, audit, warn }: PodSecurityPolicy): boolean {
  return [enforce, audit, warn].every(({ level }) => level === PRIVILEGED.level);
}

/** The check in a version; undefined if it did not exist yet. */
function inVersion({ versions }: SecurityCheck, version: LevelVersion['version']): VersionedCheck | undefined {
  return versions.findLast(({ since }) => version === 'latest' || since <= version);
}

/** All violations of a level by a pod. */
export function podSecurityViolations({ level, version }: LevelVersion, pod: CheckedPod): readonly Violation[] {
  if (level === 'privileged') return [];
  const further = level === 'restricted' ? RESTRICTED_CHECKS.flatMap((check) => inVersion(check, version) ?? []) : [];
  const overridden = new Set(further.flatMap(({ overrides }) => overrides ?? []));
  const basic = BASELINE_CHECKS.filter(({ id }) => !overridden.has(id)).flatMap(
    (check) => inVersion(check, version) ?? [],
  );
  return [...basic, ...further].flatMap(({ violation }) => violation(pod) ?? []);
}

/** Violations with their details: `hostPort (container "a" uses hostPort 80), privileged (...)`. */
export function formatViolations(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}
