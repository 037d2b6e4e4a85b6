import { posix } from 'node:path';

/** A path in a container, from its root on: Kubernetes takes one that is relative as from there. Without slashes and dots that say nothing. */
export function containerPathOf(path: string): string {
  const whole = posix.join('/', path);
  return whole.length > 1 ? whole.replace(/\/$/, '') : whole;
}
