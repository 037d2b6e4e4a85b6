/** A missing or invalid setting. The message contains the variable, its value and the valid values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly variable: string;

  constructor(variable: string, message: string) {
    super(`${variable}: ${message}`);
    this.variable = variable;
  }
}

/** Reads typed settings from environment variables. Every method throws `ConfigError` for an invalid value. */
export interface ConfigReader {
  /** The text, or `fallback` when unset or empty; without a fallback the variable is required. */
  text(variable: string, fallback?: string): string;
  integer(variable: string, range: { readonly min: number; readonly max: number }, fallback?: number): number;
  /** Comma-separated parts, trimmed, without empty ones; at least one. */
  list(variable: string, fallback?: readonly string[]): readonly string[];
  oneOf<T extends string>(variable: string, choices: readonly T[], fallback?: T): T;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A reader of environment variables. Records each variable and its default in `settings`. */
function createConfigReader(environment: Environment, settings: Map<string, unknown>): ConfigReader {
  const raw = (variable: string, fallback: unknown): string | undefined => {
    settings.set(variable, fallback);
    const value = environment[variable]?.trim();
    return value === undefined || value === '' ? undefined : value;
  };
  const orRequired = <T>(variable: string, fallback: T | undefined): T => {
    if (fallback === undefined) throw new ConfigError(variable, 'is required, but not set');
    return fallback;
  };
  return {
    text: (variable, fallback) => raw(variable, fallback) ?? orRequired(variable, fallback),
    integer: (variable, { min, max }, fallback) => {
      const value = raw(variable, fallback);
      if (value === undefined) return orRequired(variable, fallback);
      const number = Number(value);
      if (!Number.isSafeInteger(number) || number < min || number > max) {
        throw new ConfigError(variable, `${JSON.stringify(value)} is not a whole number from ${min} to ${max}`);
      }
      return number;
    },
    list: (variable, fallback) => {
      const value = raw(variable, fallback);
      if (value === undefined) return orRequired(variable, fallback);
      const parts = value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '');
      if (parts.length === 0) throw new ConfigError(variable, `${JSON.stringify(value)} has no elements`);
      return parts;
    },
    oneOf: (variable, choices, fallback) => {
      const value = raw(variable, fallback);
      if (value === undefined) return orRequired(variable, fallback);
      const choice = choices.find((candidate) => candidate === value);
      if (choice === undefined) {
        throw new ConfigError(variable, `${JSON.stringify(value)} is not one of ${choices.join(', ')}`);
      }
      return choice;
    },
  };
}

const READ_FROM = new WeakMap<object, ReadonlyMap<string, unknown>>();

/** Builds a configuration that is frozen, including nested arrays and objects. */
export function readConfig<T extends object>(
  environment: Environment,
  build: (reader: ConfigReader) => T,
): Readonly<T> {
  const settings = new Map<string, unknown>();
  const config = freeze(build(createConfigReader(environment, settings)));
  READ_FROM.set(config, settings);
  return config;
}

/** The variables of a configuration, each with its default. `npm run generate` writes them into a page. */
export function settingsOf(config: object): ReadonlyMap<string, unknown> {
  return READ_FROM.get(config) ?? new Map();
}

/** The time to live of a leader's lease in milliseconds, and the longest one, while renewals are late. */
export interface LeaseTimes {
  readonly leaseTtlMs: number;
  readonly leaseMaxTtlMs: number;
}

/** The settings of an elected process. */
export function readLeaseTimes(read: ConfigReader): LeaseTimes {
  return {
    leaseTtlMs: read.integer('GANTRY_LEASE_TTL_MS', { min: 500, max: 60_000 }, 2000),
    leaseMaxTtlMs: read.integer('GANTRY_LEASE_MAX_TTL_MS', { min: 500, max: 600_000 }, 8000),
  };
}

function freeze<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}
