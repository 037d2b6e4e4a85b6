import type { OperatorSettings } from './plan-operator.ts';
import { parseWindow, type RebootWindow } from './reboot-window.ts';

/** Thrown for an environment that cannot be used; the message names the variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A name of an annotation, as the API server checks it. */
const ANNOTATION = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const MAX_REBOOTING = 1000;

/** Reads the flags of the original from their variables. Throws ConfigError and WindowError. */
export function operatorSettings(env: Environment): OperatorSettings & { readonly window: RebootWindow | undefined } {
  const start = env['UPDATE_OPERATOR_REBOOT_WINDOW_START'] ?? '';
  const length = env['UPDATE_OPERATOR_REBOOT_WINDOW_LENGTH'] ?? '';
  if ((start === '') !== (length === '')) {
    throw new ConfigError(
      'UPDATE_OPERATOR_REBOOT_WINDOW_START and UPDATE_OPERATOR_REBOOT_WINDOW_LENGTH: give both or none',
    );
  }
  return {
    maxRebooting: integer(env, 'UPDATE_OPERATOR_MAX_REBOOTING', 1, [1, MAX_REBOOTING]),
    beforeReboot: annotations(env, 'UPDATE_OPERATOR_BEFORE_REBOOT_ANNOTATIONS'),
    afterReboot: annotations(env, 'UPDATE_OPERATOR_AFTER_REBOOT_ANNOTATIONS'),
    window: start === '' ? undefined : parseWindow(start, length),
  };
}

/** Reads the flags of the original's agent from their variables. Throws ConfigError. */
export function agentSettings(env: Environment): {
  readonly node: string;
  readonly gracePeriodMs: number;
  readonly podUid: string;
  readonly socket: string;
  readonly group: string;
  readonly osRelease: string;
} {
  return {
    node: required(env, 'UPDATE_AGENT_NODE'),
    podUid: required(env, 'POD_UID'),
    gracePeriodMs: integer(env, 'UPDATE_AGENT_GRACE_PERIOD', 600, [0, 86_400]) * 1000,
    socket: env['DOCKER_SOCKET'] ?? '/var/run/docker.sock',
    group: env['UPDATE_AGENT_GROUP'] ?? 'stable',
    osRelease: env['OS_RELEASE'] ?? '/host/etc/os-release',
  };
}

/** `ID` and `VERSION_ID` of a file such as /etc/os-release; '' where it has none. */
export function parseOsRelease(text: string): { readonly id: string; readonly version: string } {
  const valueOf = (name: string): string => new RegExp(`^${name}=["']?([a-z0-9._-]*)["']?$`, 'm').exec(text)?.[1] ?? '';
  return { id: valueOf('ID'), version: valueOf('VERSION_ID') };
}

function required(env: Environment, name: string): string {
  const value = env[name] ?? '';
  if (value === '') throw new ConfigError(`${name}: is required`);
  return value;
}

function integer(env: Environment, name: string, fallback: number, [least, most]: readonly [number, number]): number {
  const value = env[name] ?? '';
  const number = value === '' ? fallback : Number(value);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new ConfigError(`${name}: ${JSON.stringify(value)} is not an integer from ${least} to ${most}`);
}

function annotations(env: Environment, name: string): readonly string[] {
  const names = (env[name] ?? '').split(',').map((one) => one.trim());
  const given = names.filter((one) => one !== '');
  const wrong = given.find((one) => !ANNOTATION.test(one));
  if (wrong !== undefined) throw new ConfigError(`${name}: ${JSON.stringify(wrong)} is not the name of an annotation`);
  return given;
}
