import { CelOptional, type CelResult, type CelValue, isError } from '../values/value.ts';
import { access, lookUp } from '../evaluate/access.ts';

/** `container[key]`, also through an optional. */
export function accessIndex(container: CelValue, key: CelValue): CelResult {
  if (!(container instanceof CelOptional)) return access(container, key);
  const found = container.value === undefined ? undefined : lookUp(container.value, key);
  return isError(found) ? found : new CelOptional(found);
}
