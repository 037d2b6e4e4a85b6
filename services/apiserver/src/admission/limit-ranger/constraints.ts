import { type Amounts, compareAmounts } from '@gantry/kinds';
import { quantityMilli } from '@gantry/objects';

/** The resources of a container, pod or claim. */
export interface Usage {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** Returns a message if the limit is violated. `type` is Container, Pod or PersistentVolumeClaim. */
type Constraint = (type: string, name: string, enforced: string, usage: Usage) => string | undefined;

export const minimum: Constraint = (type, name, enforced, { requests, limits }) => {
  const head = `minimum ${name} usage per ${type} is ${enforced}`;
  const [request, limit] = [requests[name], limits[name]];
  if (request === undefined) return `${head}.  No request is specified`;
  if (compareAmounts(request, enforced) < 0) return `${head}, but request is ${request}`;
  return limit !== undefined && compareAmounts(limit, enforced) < 0 ? `${head}, but limit is ${limit}` : undefined;
};

export const maximum: Constraint = (type, name, enforced, { requests, limits }) => {
  const head = `maximum ${name} usage per ${type} is ${enforced}`;
  const [request, limit] = [requests[name], limits[name]];
  if (limit === undefined) return `${head}.  No limit is specified`;
  if (compareAmounts(limit, enforced) > 0) return `${head}, but limit is ${limit}`;
  return request !== undefined && compareAmounts(request, enforced) > 0
    ? `${head}, but request is ${request}`
    : undefined;
};

/** For types that have only requests. */
export const maximumRequest: Constraint = (type, name, enforced, { requests }) => {
  const head = `maximum ${name} usage per ${type} is ${enforced}`;
  const request = requests[name];
  if (request === undefined) return `${head}.  No request is specified`;
  return compareAmounts(request, enforced) > 0 ? `${head}, but request is ${request}` : undefined;
};

export const maximumRatio: Constraint = (type, name, enforced, { requests, limits }) => {
  const head = `${name} max limit to request ratio per ${type} is ${enforced}`;
  const milli = (amount: string | undefined) => (amount === undefined ? 0 : Number(quantityMilli(amount)));
  const [request, limit] = [milli(requests[name]), milli(limits[name])];
  if (request === 0) return `${head}, but no request is specified or request is 0`;
  if (limit === 0) return `${head}, but no limit is specified or limit is 0`;
  const ratio = limit / request;
  return ratio * 1000 > milli(enforced) ? `${head}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
};

/** The messages of all violated limits in one map of a LimitRange. */
export function enforce(constraint: Constraint, type: string, map: Amounts | undefined, usage: Usage): string[] {
  return Object.keys(map ?? {})
    .sort()
    .flatMap((name) => constraint(type, name, map?.[name] ?? '', usage) ?? []);
}
