import { expect, it } from 'vitest';
import { recursiveReadOnlyOf } from './docker-engine.ts';

it.each([
  ['20.10.24', '6.1.0-13-amd64', 'unsupported'],
  ['25.0.0', '6.1.0-13-amd64', 'supported'],
  ['28.5.2', '5.12.0', 'supported'],
  ['28.5.2', '5.11.22', 'unsupported'],
  ['28.5.2', '4.19.0', 'unsupported'],
  ['unknown', 'unknown', 'unsupported'],
])('an engine %s on the kernel %s has recursive read-only mounts: %s', (version, kernel, expected) => {
  expect(recursiveReadOnlyOf(version, kernel)).toBe(expected);
});
