import { expect, test } from 'vitest';
import { withoutStrangers } from './transcript-player.ts';

const LOST = `E1122 20:55:37.618789  26445 memcache.go:287] couldn't get resource list for v29.example.com/v1: the server could not find the requested resource`;

test('a group of another transcript that vanishes is none of this one’s answer', () => {
  const rest = `error: the server doesn't have a resource type "unheardof"\n`;
  expect(withoutStrangers(`${LOST}\n${rest}`, '$ kubectl describe unheardof')).toBe(rest);
  expect(withoutStrangers(`${LOST}\n${rest}`, '$ kubectl describe csidriver csi-v29.example.com')).toBe(rest);
});

test.each([
  ['its own group', LOST, 'group: v29.example.com'],
  ['another error', LOST.replace('could not find the requested resource', 'is out of order'), ''],
])('%s stays', (_title, stderr, transcript) => {
  expect(withoutStrangers(stderr, transcript)).toBe(stderr);
});
