import { posix } from 'node:path';

/** The normalised absolute path in a container. Like in Kubernetes, a relative path starts at the root. */
export function containerPathOf(path: string): string {
  const whole = posix.join('/', path);
  return whole.length > 1 ? whole.replace(/\/$/, '') : whole;
}
