import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { ConsoleBrowser, terminalHasFocus } from './harness/console-browser.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
/** What must stay text wherever it is shown. Names have no slash. */
const HOSTILE = '<img src=x onerror="window.__hit=1"><script>window.__hit=2<\/script>';
const HOSTILE_NAME = '<img src=x onerror=window.__hit=1>$(touch x)\u0003\u202e';
const LINES = 100_000;
const LONG_LINE_BYTES = 10_000_000;
const SOON_MS = 180_000;

let browser: ConsoleBrowser;
let page: Page;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let ns: string;
let group: string;
const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', ns, ...args], { input });
const open = (path: string) => browser.open(page, path);
const podPath = (name: string, tab: string) => `/objects/pods/${ns}/${name}?tab=${tab}`;
const role = () => `${ns} ${HOSTILE_NAME}`;

/** Each text that a person may choose is hostile. */
const OBJECTS = () => [
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          additionalPrinterColumns: [
            { name: `Text ${HOSTILE}`, type: 'string', jsonPath: '.spec.text', description: HOSTILE },
            { name: 'Big', type: 'string', jsonPath: '.spec.big' },
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: HOSTILE,
              properties: {
                spec: {
                  type: 'object',
                  properties: { text: { type: 'string', description: HOSTILE }, big: { type: 'string' } },
                },
              },
            },
          },
        },
      ],
    },
  },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: role() }, rules: [] },
  pod('image', { containers: [{ name: 'main', image: '<img/src=x/onerror=window.__hit=1>' }] }),
  pod('terminal', { containers: [{ ...busybox('cat'), stdin: true, tty: true }] }),
  pod('flood', {
    containers: [
      busybox(`seq 1 ${LINES}; head -c ${LONG_LINE_BYTES} /dev/zero | tr '\\0' x; echo; echo the end; sleep 3600`),
    ],
  }),
];

const busybox = (script: string) => ({ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', script] });
const pod = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations: { note: HOSTILE } },
  spec: { terminationGracePeriodSeconds: 0, ...spec },
});

beforeAll(async () => {
  browser = await ConsoleBrowser.start(cluster);
  [page, namespace] = await Promise.all([browser.signedIn(), cluster.namespace()]);
  page.setDefaultTimeout(SOON_MS / 2);
  ns = namespace.name;
  group = `${ns}.hostile.example`;
  for (const object of OBJECTS()) await kubectl(['create', '-f', '-'], JSON.stringify(object));
  const spec = { text: HOSTILE, big: `${HOSTILE}${'x'.repeat(1_000_000)}` };
  const thing = {
    apiVersion: `${group}/v1`,
    kind: 'Thing',
    metadata: { name: 'thing', annotations: { note: HOSTILE } },
  };
  await eventually('the definition is served', SOON_MS, () =>
    kubectl(['create', '-f', '-'], JSON.stringify({ ...thing, spec })),
  );
  await kubectl(['wait', '--for=condition=Ready', 'pod/terminal', 'pod/flood', '--timeout=120s']);
}, 600_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  if (namespace === undefined) return;
  await kubectl(['delete', 'crd', `things.${group}`]);
  await kubectl(['delete', 'clusterrole', role()]);
  await namespace[Symbol.asyncDispose]();
});

afterEach(async () => {
  expect(await page.evaluate('window.__hit')).toBeUndefined();
  expect(browser.complaints).toEqual([]);
});

test('texts of definitions, images and names are text in every view, and nobody waits for large ones', async () => {
  await open(`/objects/things.${group}?ns=${ns}`);
  await page.getByRole('columnheader', { name: HOSTILE }).waitFor();
  await page.getByRole('cell', { name: HOSTILE, exact: true }).waitFor();
  expect((await page.content()).length).toBeLessThan(200_000);
  for (const tab of ['overview', 'events', 'yaml', 'fields', 'related']) {
    await open(`/objects/things.${group}/${ns}/thing?tab=${tab}`);
    await page.getByRole('heading', { name: /Thing.*thing/ }).waitFor();
    if (tab === 'yaml') await page.getByRole('textbox', { name: 'YAML' }).waitFor();
  }
  await open(podPath('image', 'overview'));
  await page.getByText('<img/src=x/onerror=window.__hit=1>').first().waitFor();
  await open(podPath('image', 'why'));
  await page.getByRole('heading', { name: /Pod.*image/ }).waitFor();
});

test('commands to copy are one argument for each text, whatever a link or an object says', async () => {
  const command = page.locator('.kubectl code').first();
  await open(`/objects/configmaps/${encodeURIComponent('$(touch x)')}/y?tab=related`);
  await command.filter({ hasText: `-n '$(touch x)'` }).waitFor();
  await open(`/?ns=${encodeURIComponent('a; touch x')}`);
  await command.filter({ hasText: `-n 'a; touch x'` }).waitFor();
  await open(`/objects/clusterroles.rbac.authorization.k8s.io/-/${encodeURIComponent(role())}`);
  await command
    .filter({ hasText: String.raw`$'${ns} <img src=x onerror=window.__hit=1>$(touch x)\u0003\u202e'` })
    .waitFor();
});

test(`a log of ${LINES} lines and one of ${LONG_LINE_BYTES} bytes`, async () => {
  const started = performance.now();
  await open(podPath('flood', 'logs'));
  const log = page.getByRole('log');
  await log.getByText('the end', { exact: true }).waitFor({ timeout: SOON_MS });
  const shownMs = performance.now() - started;
  await page
    .getByRole('status')
    .filter({ hasText: /^100000 lines/ })
    .waitFor();
  const searched = performance.now();
  await page.getByLabel('Search in the log').fill('99999');
  await log.getByText('99999', { exact: true }).waitFor();
  const searchMs = performance.now() - searched;
  await page.getByLabel('Search in the log').fill('xxx');
  await log
    .getByText(/cut after 10000 characters/)
    .first()
    .waitFor();
  const { usedJSHeapSize } = await page.evaluate<{ usedJSHeapSize: number }>(
    '({ usedJSHeapSize: performance.memory.usedJSHeapSize })',
  );
  process.stdout.write(
    `log of ${LINES} lines: shown after ${Math.round(shownMs)} ms, search ${Math.round(searchMs)} ms, heap ${Math.round(usedJSHeapSize / 2 ** 20)} MiB\n`,
  );
  expect(usedJSHeapSize).toBeLessThan(512 * 2 ** 20);
});

describe('a terminal', () => {
  test('shows the end of a flood of output, and obeys Ctrl-C', async () => {
    await open(podPath('terminal', 'terminal'));
    await page.getByRole('button', { name: 'Start' }).click();
    await terminalHasFocus(page);
    await page.keyboard.type('yes "$(printf "\\033]8;;javascript:alert(1)\\033\\\\\\\\\\033]0;title\\007y")"\n');
    await page.locator('.xterm-accessibility').getByText('y', { exact: true }).first().waitFor();
    await page.keyboard.press('Control+c');
    await page.keyboard.type('echo $((6*7)) > /tmp/answer; exit\n');
    await page.getByText('the command has ended').waitFor({ timeout: SOON_MS });
    expect(await kubectl(['exec', 'terminal', '--', 'cat', '/tmp/answer'])).toBe('42\n');
    expect(await page.title()).toBe('terminal · Pod · Gantry');
  });

  test('attaches to the process of a container', async () => {
    await open(podPath('terminal', 'terminal'));
    await page.getByLabel('attach instead').check();
    await page.getByRole('button', { name: 'Start' }).click();
    await terminalHasFocus(page);
    await page.keyboard.type('hello from the page\n');
    await eventually('the process has read it', SOON_MS, async () =>
      (await kubectl(['logs', 'terminal'])).includes('hello from the page'),
    );
  });

  test('is refused in the words of the server', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'caller' } };
    await kubectl(['create', '-f', '-'], JSON.stringify(account));
    await kubectl(['create', 'role', 'caller', '--verb=get,list,watch', '--resource=pods']);
    await kubectl(['create', 'role', 'creator', '--verb=create', '--resource=pods/exec']);
    for (const one of ['caller', 'creator'])
      await kubectl(['create', 'rolebinding', one, `--role=${one}`, `--serviceaccount=${ns}:caller`]);
    const caller = await browser.signedInAs(ns, 'caller');
    await browser.open(caller, podPath('terminal', 'terminal'));
    await caller.getByRole('button', { name: 'Start' }).click();
    await caller.getByText(/pods "terminal" is forbidden: .*cannot get resource "pods\/exec"/).waitFor();
    await caller.context().close();
  });

  test('has debug containers and copies of files', async () => {
    await open(podPath('terminal', 'terminal'));
    await page.getByRole('button', { name: 'Copy files' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy files' });
    const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 256));
    const upload = dialog.locator('form', { hasText: 'Into the container' });
    await upload
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'a', mimeType: 'text/html', buffer: content });
    await upload.getByLabel('Path in the container').fill('/tmp/copied $(touch x)');
    await upload.getByRole('button', { name: 'Upload' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Copy files' }).click();
    const download = dialog.locator('form', { hasText: 'Out of the container' });
    await download.getByLabel('Path in the container').fill('/tmp/copied $(touch x)');
    const arrives = page.waitForEvent('download');
    await download.getByRole('button', { name: 'Download' }).click();
    const file = await arrives;
    expect(file.suggestedFilename()).toMatch(/^copied/);
    expect(Buffer.compare(await readFile(await file.path()), content)).toBe(0);
    await download.getByLabel('Path in the container').fill('/nonexistent');
    await download.getByRole('button', { name: 'Download' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/No such file/)
      .waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'Add a debug container' }).click();
    const debug = page.getByRole('dialog', { name: 'Add a debug container' });
    await debug.getByLabel('Image').fill('busybox:1.36');
    await debug.getByRole('button', { name: 'Add', exact: true }).click();
    await debug.waitFor({ state: 'detached' });
    const container = page.locator('select[name=container]').first();
    await container.getByRole('option', { name: /^debugger-/ }).waitFor({ state: 'attached', timeout: SOON_MS });
  });
});

test("the loops of a node's agent are shown when it is chosen", async () => {
  const [node = ''] = (await kubectl(['get', 'nodes', '-o', 'name']))
    .trim()
    .split('\n')
    .map((name) => name.slice(5));
  await open('/control-loops');
  await page.locator('section', { hasText: 'Agents' }).getByRole('combobox').selectOption(node);
  await page.getByRole('row', { name: /pods \d+ \d+/ }).waitFor();
  interface Report {
    readonly processes: readonly {
      readonly component: string;
      readonly identity: string;
      readonly loops: readonly object[];
    }[];
  }
  // A process that does not respond within two seconds is left out.
  await eventually('both processes of the node respond', SOON_MS, async () => {
    const { processes } = JSON.parse(await kubectl(['get', '--raw', `/gantry/v1/loops?node=${node}`])) as Report;
    expect(processes).toMatchObject([
      { component: 'kube-proxy', loops: [{ name: 'rules' }] },
      { component: 'kubelet', identity: node, loops: [{ name: 'pods' }] },
    ]);
    return true;
  });
});
