import { StatusError } from './status-error.ts';

/**
 * A count, or a percentage of `total` (`"25%"`), rounded up or down to a whole number.
 * Throws StatusError BadRequest for a text that is neither.
 */
export function resolveIntOrPercent(value: number | string, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const percent = /^([+-]?\d+)%$/.exec(value)?.[1];
  if (percent === undefined)
    throw StatusError.badRequest(
      `invalid value for IntOrString: invalid type: string is not a percentage: ${JSON.stringify(value)}`,
    );
  const exact = (Number(percent) * total) / 100;
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
