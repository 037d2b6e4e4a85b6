import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scriptProgram } from '../testing/scripted-program.ts';
import { forgetStaleFlows } from './conntrack.ts';

const targets = new Map([['udp 10.96.0.10:53', new Set(['10.128.4.1'])]]);
const flow = (client: string, answeredBy: string) =>
  `udp      17 25 src=${client} dst=10.96.0.10 sport=5353 dport=53 src=${answeredBy} dst=${client} sport=1053 dport=5353 mark=0 use=1`;

test('a program runs for each dead endpoint, not for each client', async () => {
  const clients = Array.from({ length: 500 }, (_, index) => `10.128.8.${index % 250}`);
  const listing = clients.map((client, index) => flow(client, `10.128.4.${1 + (index % 3)}`)).join('\n');
  const folder = scriptProgram(
    'conntrack',
    `case "$1" in
  -L) cat <<'END'
${listing}
END
  ;;
  -D) echo "$*" >> "$FOLDER/deletions"; exit 1;;
esac
`,
  );
  expect(await forgetStaleFlows(targets, new AbortController().signal)).toBe(333);
  expect(readFileSync(join(folder, 'deletions'), 'utf8').trim().split('\n')).toEqual([
    '-D -p udp --orig-dst 10.96.0.10 --orig-port-dst 53 --reply-src 10.128.4.2',
    '-D -p udp --orig-dst 10.96.0.10 --orig-port-dst 53 --reply-src 10.128.4.3',
  ]);
});

test('only connections of TCP that were reset are read and ended', async () => {
  const folder = scriptProgram(
    'conntrack',
    `echo "$*" >> "$FOLDER/calls"
case "$1" in
  -L) echo 'tcp      6 9 CLOSE src=10.128.4.9 dst=10.96.0.10 sport=40000 dport=80 src=10.128.4.2 dst=10.128.4.9 sport=8080 dport=40000 [ASSURED] mark=0 use=1';;
esac
`,
  );
  const web = new Map([['tcp 10.96.0.10:80', new Set(['10.128.4.1'])]]);
  expect(await forgetStaleFlows(web, new AbortController().signal)).toBe(1);
  expect(readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')).toEqual([
    '-L -p tcp --state CLOSE',
    '-D -p tcp --state CLOSE --orig-dst 10.96.0.10 --orig-port-dst 80 --reply-src 10.128.4.2',
  ]);
});
