import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const FILES = [
  'deploy/bin/check-wire',
  'deploy/lib/say.sh',
  'deploy/lib/previous.sh',
  'proto/buf.yaml',
  'proto/gantry',
];
const PROTO = 'proto/gantry/v1/agent.proto';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-wire-'));
  folders.push(folder);
  return folder;
}

async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  return (await promisify(execFile)('git', [...identity, ...args], { cwd: folder })).stdout.trim();
}

/** A repository with what the check reads. Its second commit names the first one as the release before. */
async function repository(): Promise<string> {
  const folder = temporaryFolder();
  for (const file of FILES) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file), { recursive: true });
  }
  writeFileSync(join(folder, '.gitignore'), 'node_modules\n');
  await git(folder, 'init', '-q');
  await commitAll(folder, 'first');
  writeFileSync(join(folder, 'deploy/previous-release'), `${await git(folder, 'rev-parse', 'HEAD')}\n`);
  await commitAll(folder, 'second');
  return folder;
}

async function commitAll(folder: string, message: string): Promise<void> {
  await git(folder, 'add', '-A');
  await git(folder, 'commit', '-qm', message);
}

/** What the check writes, or '' if it succeeds. */
async function check(folder: string): Promise<string> {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  try {
    await promisify(execFile)(join(folder, 'deploy/bin/check-wire'));
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    return stdout + stderr;
  }
}

function changeProto(folder: string, change: (text: string) => string): void {
  const file = join(folder, PROTO);
  const before = readFileSync(file, 'utf8');
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
}

test('a new field and a new method are compatible with the release before', async () => {
  const folder = await repository();
  changeProto(folder, (text) => text.replace(/^message StreamStart \{/m, '$&\n  string added = 99;'));
  changeProto(folder, (text) => text.replace(/^ *rpc (\w+)(.*)$/m, '$&\n  rpc Added$2'));
  expect(await check(folder)).toBe('');
});

test('a field with another type is reported by its name', async () => {
  const folder = await repository();
  changeProto(folder, (text) => text.replace(/^( *)string pod_uid = /m, '$1int64 pod_uid = '));
  expect(await check(folder)).toMatch(
    /"pod_uid" on message "ContainerLogsRequest" changed type from "string" to "int64"/,
  );
});

test('a removed method is reported by its name', async () => {
  const folder = await repository();
  changeProto(folder, (text) => text.replace(/^ *rpc NodeUsage\b.*\n/m, ''));
  expect(await check(folder)).toMatch(/Previously present RPC "NodeUsage" on service "AgentService" was deleted/);
});

test('a clone without the whole history is told what is missing', async () => {
  const shallow = join(temporaryFolder(), 'shallow');
  const folder = await repository();
  await git(folder, 'clone', '-q', '--depth', '1', `file://${folder}`, shallow);
  const message = await check(shallow);
  expect(message).toContain('that deploy/previous-release names is not in this clone');
  expect(message).toContain('git fetch --unshallow');
});
