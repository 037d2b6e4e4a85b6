import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { playTranscript, withoutStrangers } from './transcript-player.ts';

const LOST = `E1122 20:55:37.618789  26445 memcache.go:287] couldn't get resource list for v29.example.com/v1: the server could not find the requested resource`;

test('a group of another transcript that vanishes is none of this one’s answer', () => {
  const rest = `error: the server doesn't have a resource type "unheardof"\n`;
  expect(withoutStrangers(`${LOST}\n${rest}`, '$ kubectl describe unheardof')).toBe(rest);
  expect(withoutStrangers(`${LOST}\n${rest}`, '$ kubectl describe csidriver csi-v29.example.com')).toBe(rest);
});

const WATCH = `E1123 11:55:06.868697  21679 reflector.go:158] "Unhandled Error" err="k8s.io/client-go/tools/watch/informerwatcher.go:146: Failed to watch *unstructured.Unstructured: context deadline exceeded"`;

/** The same of kubectl 1.36. */
const WATCH_36 = `E1130 16:35:22.277929  814189 reflector.go:227] "Failed to watch" err="context deadline exceeded" reflector="k8s.io/client-go/tools/watch/informerwatcher.go:162" type="*unstructured.Unstructured"`;

test.each([WATCH, WATCH_36])('a watch that kubectl begins at the end of its wait is none of the answer', (watch) => {
  const rest = 'error: timed out waiting for the condition on pods/held\n';
  expect(withoutStrangers(`${watch}\n${rest}`, '')).toBe(rest);
});

test.each([
  ['a watch that fails otherwise', WATCH.replace('context deadline exceeded', 'unknown'), ''],
  ['a watch of kubectl 1.36 that fails otherwise', WATCH_36.replace('context deadline exceeded', 'unknown'), ''],
  ['its own group', LOST, 'group: v29.example.com'],
  ['another error', LOST.replace('could not find the requested resource', 'is out of order'), ''],
])('%s stays', (_title, stderr, transcript) => {
  expect(withoutStrangers(stderr, transcript)).toBe(stderr);
});

test('what a program leaves among the temporary files goes with the play', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-player-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const kubeconfig = join(home, 'kubeconfig');
  writeFileSync(kubeconfig, 'contexts: []\n');
  const player = { kubectl: '/bin/false', minor: 36, kubeconfig, namespace: 'n' };
  const [played] = await playTranscript('$ mktemp\n', player);
  const file = played?.answer.stdout.trim() ?? '';
  expect(file).toMatch(/^\//);
  expect(existsSync(file)).toBe(false);
});
