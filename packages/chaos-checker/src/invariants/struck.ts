import type { FaultLine } from '../artifacts.ts';

/** Whether a fault struck the container of this name: as its target, or as its details name it. */
export function isStruck({ target, detail = '' }: FaultLine, container: string): boolean {
  return target === container || detail.split(/[^\w.-]+/).includes(container);
}
