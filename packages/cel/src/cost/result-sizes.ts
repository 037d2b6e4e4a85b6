import { MAX_ELEMENTS } from '../values/size-limits.ts';
import { CelList, type CelValue } from '../values/value.ts';

/** Sizes of lists that functions will create. If a function will fail, the size is 1, that of an error. */

export function rangeSize(count: CelValue = 0n): number {
  const size = Number(count);
  return size > MAX_ELEMENTS ? 1 : Math.max(0, size);
}

export function slicedSize(size: number, from: CelValue = 0n, to: CelValue = 0n): number {
  const [start, end] = [Number(from), Number(to)];
  return start < 0 || start > end || end > size ? 1 : end - start;
}

/** Stops soon after MAX_ELEMENTS: nested lists may share each other so that the total is practically unbounded. */
export function flattenedSize(list: CelValue = null, depth: CelValue = 1n): number {
  let size = 0;
  // Empty lists have size 0 but take time to visit.
  let visited = 0;
  const visit = (inner: CelValue, level: number): void => {
    if (!(inner instanceof CelList)) return;
    for (const element of inner) {
      if (++visited > MAX_ELEMENTS) return;
      if (element instanceof CelList && level > 0) visit(element, level - 1);
      else size++;
    }
  };
  if (Number(depth) < 0) return 1;
  visit(list, Number(depth));
  return visited > MAX_ELEMENTS ? Math.max(size, MAX_ELEMENTS + 1) : size;
}
