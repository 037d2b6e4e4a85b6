import { formatKey } from '../values/collections.ts';
import { numeric } from '../values/compare.ts';
import { typeNameOfValue } from '../values/type-name.ts';
import { CelError, CelList, CelMap, CelOptional, type CelResult, type CelValue, isError } from '../values/value.ts';

const missing = (key: CelValue) => new CelError(`no such key: ${formatKey(key)}`);

/** `container[key]` or `container.key`; undefined when the container has no such key or index. */
export function lookUp(container: CelValue, key: CelValue): CelResult | undefined {
  if (container instanceof CelMap) return container.get(key);
  if (!(container instanceof CelList)) return undefined;
  const index = numeric(key);
  if (index === undefined) return new CelError(`unsupported index type '${typeNameOfValue(key)}' in list`);
  const position = Number(index);
  if (!Number.isInteger(position)) return new CelError(`unsupported index value ${position} in list`);
  return position < 0 || position >= container.size ? undefined : container.at(position);
}

/** The same, with an error for an absent key or index. */
export function access(container: CelValue, key: CelValue): CelResult {
  const found = lookUp(container, key);
  if (found !== undefined) return found;
  return container instanceof CelList ? new CelError(`index out of bounds: ${formatKey(key)}`) : missing(key);
}

/** `container[key]`, also through an optional. */
export function accessIndex(container: CelValue, key: CelValue): CelResult {
  if (!(container instanceof CelOptional)) return access(container, key);
  const found = container.value === undefined ? undefined : lookUp(container.value, key);
  return isError(found) ? found : new CelOptional(found);
}
