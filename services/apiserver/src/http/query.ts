import { StatusError } from '@gantry/objects';

const INT64_MAX = 9_223_372_036_854_775_807n;

/** A whole number of the query; BadRequest in Go's words when it is none. Undefined when absent. */
export function parseInt64(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) {
    throw StatusError.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  const [, sign = '', digits = ''] = /^([+-]?)0*(\d+)$/.exec(text) ?? [];
  const value = digits.length > 20 ? INT64_MAX + 1n : BigInt(`${sign === '-' ? '-' : ''}${digits}`);
  if (value > INT64_MAX || value < -INT64_MAX - 1n) {
    throw StatusError.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return Number(value);
}

/** Anything but "false" and "0" is true, as Kubernetes reads flags in queries. Undefined when absent. */
export function parseBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text.toLowerCase() !== 'false' && text !== '0';
}
