import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { resources } from '@gantry/kinds';
import { widgets } from '@gantry/kinds/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const KUBECTL = join(import.meta.dirname, '../../../../.gantry/tools/kubectl');
const WIDGET = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'a' } };

let server: TestApiServer;
let folder: string;

beforeAll(async () => {
  server = await startApiServer({ resources: [...resources, widgets] });
  folder = await mkdtemp(join(tmpdir(), 'gantry-example-kind-'));
  await writeFile(join(folder, 'config'), server.kubeconfig);
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

function start(args: readonly string[]): ChildProcess {
  const environment = { KUBECONFIG: join(folder, 'config'), HOME: folder };
  return spawn(KUBECTL, args, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Runs kubectl and returns its output. */
async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const child = start(args);
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  child.stdin?.end(input);
  await once(child, 'close');
  return printed;
}

function apply(size: number): Promise<string> {
  return kubectl(['apply', '-f', '-'], JSON.stringify({ ...WIDGET, spec: { size } }));
}

describe('kubectl and a built-in kind that is one file and one line', () => {
  it('applies it', async () => {
    expect(await apply(1)).toBe('widget.example.dev/a created\n');
    expect(await apply(1)).toBe('widget.example.dev/a unchanged\n');
    expect(await apply(2)).toBe('widget.example.dev/a configured\n');
  });

  it('prints the reason for which it was refused', async () => {
    expect(await apply(1)).toContain('spec.size: Forbidden: a widget may not shrink');
  });

  it('gets it by its short name, in its columns', async () => {
    const lines = (await kubectl(['get', 'wd'])).trim().split('\n');
    expect(lines.map((line) => line.split(/\s+/).slice(0, 3))).toEqual([
      ['NAME', 'SIZE', 'READY'],
      ['a', '2', 'false'],
    ]);
  });

  it('explains it', async () => {
    const text = await kubectl(['explain', 'widgets.spec.size']);
    expect(text).toContain('FIELD: size <integer>');
    expect(text).toContain('size is the length of the widget in millimetres.');
  });

  it('watches it', async () => {
    const child = start(['get', 'widgets', '--watch', '--no-headers']);
    const { stdout } = child;
    expect(stdout).not.toBeNull();
    if (stdout === null) return;
    const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toMatch(/^a\s+2\s/);
    await apply(7);
    expect((await lines.next()).value).toMatch(/^a\s+7\s/);
    child.kill();
    await once(child, 'close');
  });
});
