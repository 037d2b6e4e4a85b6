import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { CONFIG_MAPS, DEPLOYMENTS, SERVICE_ACCOUNTS } from '@gantry/objects';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { ConsoleBrowser, expectAccessible, terminalHasFocus } from './harness/console-browser.ts';
import { takePictures, viewsOf } from './harness/console-pictures.ts';
import { eventually } from './harness/eventually.ts';
import { COMPONENTS, leaderOf } from './harness/leaders.ts';

const cluster = new Cluster();
/** What must stay text wherever it is shown. */
const HOSTILE = '<img src=x onerror="window.__hit=1"><script>window.__hit=2</script>';
const SOON_MS = 120_000;

let browser: ConsoleBrowser;
let page: Page;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let ns: string;
const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', ns, ...args], { input });
const open = (path: string) => browser.open(page, path);
const podPath = (name: string, tab: string) => `/objects/pods/${ns}/${name}?tab=${tab}`;

/** A pod whose log has hostile lines, with hostile annotations, and one whose image and message are hostile. */
const HOSTILE_PODS = () => `
apiVersion: v1
kind: Pod
metadata:
  name: talker
  labels: { app: talker }
  annotations: { note: ${JSON.stringify(HOSTILE)} }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: busybox:1.36
      env: [{ name: LINE, value: ${JSON.stringify(HOSTILE)} }]
      command: [sh, -c, 'echo "$LINE"; printf "\\033[31mred\\033[0m\\033]0;title\\007 line\\n"; while sleep 1; do echo tick; done']
---
apiVersion: v1
kind: Pod
metadata: { name: stuck }
spec:
  nodeSelector: { nowhere: "true" }
  containers: [{ name: main, image: 'busybox:1.36' }]
---
apiVersion: v1
kind: Pod
metadata: { name: pair }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - { name: one, image: 'busybox:1.36', command: [sh, -c, 'echo from one; sleep 3600'] }
    - { name: two, image: 'busybox:1.36', command: [sh, -c, 'echo from two; sleep 3600'] }
---
apiVersion: v1
kind: Event
metadata: { name: hostile-event }
involvedObject: { apiVersion: v1, kind: Pod, name: stuck, namespace: ${ns} }
reason: Hostile
message: ${JSON.stringify(HOSTILE)}
type: Warning
`;

beforeAll(async () => {
  browser = await ConsoleBrowser.start(cluster);
  [page, namespace] = await Promise.all([browser.signedIn(), cluster.namespace()]);
  ns = namespace.name;
  await kubectl(['apply', '-f', '-'], HOSTILE_PODS());
  await cluster.create(DEPLOYMENTS, ns, nginxDeployment('web', 1));
  await kubectl(['wait', '--for=condition=Ready', 'pod/talker', '--timeout=120s']);
}, 600_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await namespace?.[Symbol.asyncDispose]();
});

afterEach(async () => {
  expect(await page.evaluate('window.__hit')).toBeUndefined();
  expect(browser.complaints).toEqual([]);
});

test('a one-time link signs in once, and its code leaves the address', async () => {
  expect(page.url()).toBe(`${browser.origin}/`);
  const link = await browser.link();
  const [first, second] = [await browser.page(), await browser.page()];
  await first.goto(link);
  await first.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
  expect(first.url()).not.toContain('code');
  const files = `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/assets/'))`;
  const bytes = await first.evaluate<number>(`${files}.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
  expect(bytes, 'files of the first view, compressed').toBeGreaterThan(50_000);
  expect(bytes, 'files of the first view, compressed').toBeLessThan(400_000);
  await second.goto(link);
  await second.getByRole('alert').getByText('the link has been used').waitFor();
  await expectAccessible(second);
  await Promise.all([first, second].map((one) => one.context().close()));
});

if (process.env['GANTRY_CONSOLE_PICTURES'] === '1')
  test('pictures of the views are taken', async () => {
    await cluster.untilRolledOut(ns, 'web');
    await takePictures(browser, join(cluster.root, 'docs/pictures'), viewsOf(ns));
  });

describe('on a phone, an accessible page', () => {
  let phone: Page;

  beforeAll(async () => {
    phone = await browser.signedIn({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  });

  afterAll(() => phone?.context().close());

  test.each([
    ['/', 'Nodes, the fullest first'],
    ['/control-loops', 'Leaders'],
    ['/etcd', 'Flow control'],
    ['/history', 'What changed'],
    ['/objects/pods/NS/stuck?tab=why', 'What the scheduler considered'],
    ['/objects/pods/NS/talker', 'Containers'],
  ])('is %s, whose tables scroll', async (path, heading) => {
    await browser.open(phone, path.replace('NS', ns));
    await phone.getByRole('heading', { name: heading, exact: true }).waitFor();
    await expectAccessible(phone);
  });

  test.each([
    ['deployments.apps/NS/web', ['restart', 'scale', 'roll-back', 'delete']],
    ['pods/NS/talker', ['debug', 'copy']],
    ['nodes/-/NODE', ['cordon', 'drain']],
  ])('has each dialog of %s', async (path, actions) => {
    const [node = ''] = (await kubectl(['get', 'nodes', '-o', 'name'])).trim().split('\n');
    const object = path.replace('NS', ns).replace('NODE', node.slice('node/'.length));
    for (const action of actions) {
      await browser.open(phone, `/objects/${object}?do=${action}`);
      const dialog = phone.getByRole('dialog');
      await dialog.waitFor();
      await dialog.locator('.busy').waitFor({ state: 'detached' });
      await expectAccessible(phone);
    }
  });
});

describe('objects', () => {
  test('appear and go as the cluster changes, and are found by words', async () => {
    await open(`/objects/configmaps?ns=${ns}`);
    await page.getByText(/ live$/).waitFor();
    await cluster.create(CONFIG_MAPS, ns, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'seen' },
      data: { a: '1' },
    });
    const row = page.getByRole('row', { name: /seen/ });
    await row.waitFor();
    await page.getByLabel('Filter', { exact: true }).fill('kube-root');
    await row.waitFor({ state: 'detached' });
    await page.getByLabel('Filter', { exact: true }).fill('');
    await row.waitFor();
    await expectAccessible(page);
    await kubectl(['delete', 'configmap', 'seen']);
    await row.waitFor({ state: 'detached' });
  });

  test('are opened by the keyboard alone', async () => {
    await open(`/?ns=${ns}`);
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).pressSequentially('deploy web');
    await page.getByRole('option', { name: /^web / }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /Deployment.*web/ }).waitFor();
    await page.getByRole('heading', { name: 'Conditions' }).waitFor();
    await expectAccessible(page);
  });

  test('show what they belong to', async () => {
    await kubectl(['expose', 'deployment', 'web', '--port=80']);
    await cluster.untilRolledOut(ns, 'web');
    await open(`/objects/deployments.apps/${ns}/web?tab=related`);
    for (const kind of ['Service', 'EndpointSlice', 'ReplicaSet', 'Pod'])
      await page.locator('.graph-node', { hasText: kind }).first().waitFor();
    await expectAccessible(page);
  });

  test('are changed as YAML after a dry run; a conflict names the other manager', async () => {
    await open(`/objects/deployments.apps/${ns}/web?tab=yaml`);
    const editor = page.getByRole('textbox', { name: 'YAML' });
    const replicas = editor.getByText('replicas: 1');
    await replicas.click();
    await page.keyboard.press('End');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('2');
    await page.getByRole('button', { name: 'Check with a dry run' }).click();
    await page.getByText('Others manage fields that you changed.').waitFor();
    await page.getByText('.spec.replicas').first().waitFor();
    await page.getByRole('button', { name: 'Take over these fields' }).click();
    const result = page.getByRole('region', { name: 'Result of the dry run' });
    await result.waitFor();
    // What was taken over for one text is not taken over for the next one.
    await editor.getByText('replicas: 2').click();
    await page.keyboard.press('End');
    await page.keyboard.type('0');
    await result.waitFor({ state: 'detached' });
    await page.keyboard.press('Backspace');
    await page.getByRole('button', { name: 'Check with a dry run' }).click();
    await page.getByRole('button', { name: 'Take over these fields' }).click();
    await result.waitFor();
    expect((await cluster.get(DEPLOYMENTS, ns, 'web')).spec?.replicas).toBe(1);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await eventually(
      'it is scaled',
      SOON_MS,
      async () => (await cluster.get(DEPLOYMENTS, ns, 'web')).spec?.replicas === 2,
    );
    await open(`/objects/deployments.apps/${ns}/web?tab=fields`);
    await page.getByRole('row', { name: /\.spec\.replicas gantry-console/ }).waitFor();
    await expectAccessible(page);
  });

  test('go back to an earlier revision, after a look at the difference', async () => {
    const template = async () => (await cluster.get(DEPLOYMENTS, ns, 'web')).spec?.template;
    const before = await template();
    await kubectl(['set', 'env', 'deployment/web', 'REVISION=second']);
    await open(`/objects/deployments.apps/${ns}/web?do=roll-back`);
    const dialog = page.getByRole('dialog', { name: 'Roll back web' });
    await dialog.getByText('REVISION').first().waitFor();
    // Also the names of fields that are in one of both.
    await expectAccessible(page);
    // Its pods change its status meanwhile, which is no reason to refuse.
    await dialog.getByRole('button', { name: 'Roll back to 1' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await template()).toEqual(before);
  });

  test('go with what they own, after a preview', async () => {
    await open(`/objects/deployments.apps/${ns}/web?do=delete`);
    const dialog = page.getByRole('dialog', { name: 'Delete Deployment web?' });
    await dialog.getByText(/other objects go with it/).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { name: 'Deployment', level: 1 }).waitFor();
    await eventually('it is deleted', SOON_MS, async () => !(await kubectl(['get', 'deployments'])).includes('web'));
  });
});

test('values of Secrets are masked until asked for', async () => {
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'hidden' },
    stringData: { password: 'hunter2' },
  };
  // kubectl keeps them in an annotation, too.
  await kubectl(['apply', '-f', '-'], JSON.stringify(object));
  await open(`/objects/secrets/${ns}/hidden`);
  await page.getByRole('button', { name: 'Show password' }).waitFor();
  expect(await page.content()).not.toContain('hunter2');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Show password' }).click();
  await page.getByText('hunter2', { exact: true }).waitFor();
});

describe('pods', () => {
  test('show their log as it is written; escape codes and markup do nothing', async () => {
    await open(podPath('talker', 'logs'));
    const log = page.getByRole('log');
    // Only the visible lines are in the document: the first ones are found by their words.
    const search = page.getByLabel('Search in the log');
    await search.fill('img');
    await log.getByText(HOSTILE).waitFor();
    await search.fill('red');
    await log.getByText('red', { exact: true }).waitFor();
    expect(await log.textContent()).not.toContain('\u001b');
    await search.fill('');
    // Not those in the document, which has only the visible ones.
    const shown = page.getByRole('status').filter({ hasText: /^\d+ lines/ });
    const lines = async () => Number.parseInt((await shown.textContent()) ?? '', 10);
    const before = await lines();
    await eventually('the log goes on', SOON_MS, async () => (await lines()) > before);
    expect(await log.textContent()).not.toContain('\u001b');
    expect(await page.title()).toBe('talker · Pod · Gantry');
    await expectAccessible(page);
  });

  test('show the log of the container that is chosen, and each line once', async () => {
    await kubectl(['wait', '--for=condition=Ready', 'pod/pair', '--timeout=120s']);
    await open(podPath('pair', 'logs'));
    const log = page.getByRole('log');
    for (const one of ['one', 'two']) await log.getByText(`from ${one}`).waitFor();
    await page.getByLabel('Container').selectOption('one');
    await log.getByText('from two').waitFor({ state: 'detached' });
    await log.getByText('from one').waitFor();
    await page.getByLabel('Container').selectOption('');
    // Each container has a stream of its own, and either may come first.
    for (const one of ['one', 'two']) await log.getByText(`from ${one}`).waitFor();
    expect(
      await page
        .getByRole('status')
        .filter({ hasText: /^2 lines/ })
        .count(),
    ).toBe(1);
  });

  test('have a terminal', async () => {
    await open(podPath('talker', 'terminal'));
    await page.getByRole('button', { name: 'Start' }).click();
    await terminalHasFocus(page);
    await page.keyboard.type('echo $((6*7)) > /tmp/answer; cat /tmp/answer; exit\n');
    await page.getByText('the command has ended').waitFor();
    expect(await kubectl(['exec', 'talker', '--', 'cat', '/tmp/answer'])).toBe('42\n');
    await expectAccessible(page);
  });

  test('are explained: why one has no node', async () => {
    await open(podPath('stuck', 'why'));
    await page.getByText('No node takes it.').waitFor();
    await page
      .getByText(/its labels do not match the node selector nowhere=true/)
      .first()
      .waitFor();
    await expectAccessible(page);
  });

  test('show hostile annotations and events as text', async () => {
    await open(podPath('talker', 'overview'));
    await page.getByText(HOSTILE).first().waitFor();
    await open(`/objects/events?ns=${ns}&wide=1`);
    await page.getByRole('cell', { name: HOSTILE }).waitFor();
  });
});

test('a user with few rights is offered what these allow, and nothing else', async () => {
  await cluster.create(SERVICE_ACCOUNTS, ns, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'reader' },
  });
  await kubectl(['create', 'role', 'reader', '--verb=get,list,watch', '--resource=pods']);
  await kubectl(['create', 'rolebinding', 'reader', '--role=reader', `--serviceaccount=${ns}:reader`]);
  const reader = await browser.signedInAs(ns, 'reader');
  await reader.getByRole('combobox', { name: 'Namespace' }).fill(ns);
  await reader.keyboard.press('Enter');
  const navigation = reader.getByRole('navigation');
  await navigation.getByRole('link', { name: 'Pod', exact: true }).click();
  await reader.getByRole('row', { name: /talker/ }).waitFor();
  expect(await navigation.getByRole('link', { name: 'Secret', exact: true }).count()).toBe(0);
  await reader.getByRole('link', { name: 'talker' }).click();
  await reader.getByRole('link', { name: 'Why' }).waitFor();
  // Tabs are there when the rights are known.
  for (const absent of ['Logs', 'Terminal']) expect(await reader.getByRole('link', { name: absent }).count()).toBe(0);
  expect(await reader.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  await reader.keyboard.press('Control+k');
  const search = reader.getByRole('combobox', { name: 'Search' });
  await search.fill('delete talker');
  await reader.getByText('Nothing found.').waitFor();
  await search.fill('why talker');
  await reader.getByRole('option', { name: /^Why is talker/ }).waitFor();
  await reader.keyboard.press('Escape');
  await browser.open(reader, `/objects/secrets?ns=${ns}`);
  await reader.getByRole('alert').getByText('You may not see Secret.').waitFor();
  await reader.context().close();
});

test('the death of a leader is seen as it happens', async () => {
  const [managers] = COMPONENTS;
  const leader = await leaderOf(cluster, managers);
  await open('/control-loops');
  await page
    .getByRole('row', { name: /^kube-controller-manager/ })
    .first()
    .waitFor();
  await page.getByText('None since this page was opened').waitFor();
  await expectAccessible(page);
  await cluster.docker(['kill', leader.id]);
  const row = page.getByRole('row', { name: /^kube-controller-manager .* \d+\.\d\d s$/ });
  await row.waitFor({ timeout: SOON_MS });
  await cluster.docker(['start', leader.id]);
});

test('the loops of the proxy and of the DNS are shown, and move when a Service is created', async () => {
  await open('/control-loops');
  await page.getByRole('heading', { name: /^kube-proxy .*running/ }).waitFor();
  await expect.poll(() => page.getByRole('heading', { name: /^kube-dns .*running/ }).count()).toBe(2);
  await page.getByRole('row', { name: /rules \d+ \d+/ }).waitFor();
  await kubectl(['create', 'service', 'clusterip', 'moving', '--tcp=80']);
  for (const loop of ['rules', 'records']) {
    const row = page.getByRole('row', { name: new RegExp(`${loop} .*${ns}/moving`) });
    await row.first().waitFor({ timeout: SOON_MS });
  }
  // A question to the DNS is a reconcile of one of its processes.
  const path = '/gantry/v1/loops?component=kube-dns&loop=questions';
  const questions = async () =>
    (JSON.parse(await kubectl(['get', '--raw', path])) as Loops).processes.reduce(
      (sum, { loops: [loop] }) => sum + (loop?.reconciles.total ?? 0),
      0,
    );
  interface Loops {
    readonly processes: readonly { readonly loops: readonly { readonly reconciles: { readonly total: number } }[] }[];
  }
  const before = await questions();
  // The row is of one of the servers, and the other one may hear of the Service later.
  await eventually('the name resolves', SOON_MS, () =>
    kubectl(['exec', 'talker', '--', 'nslookup', '-type=a', `moving.${ns}.svc.cluster.local`]),
  );
  await expect.poll(questions, { timeout: SOON_MS }).toBeGreaterThan(before);
});

test('etcd, API servers and history are shown', async () => {
  await open('/etcd');
  await page.getByRole('row', { name: /etcd-0 healthy/ }).waitFor();
  await page.getByRole('heading', { name: 'Flow control' }).waitFor();
  for (const path of ['etcd', 'apiservers']) await page.getByText(`kubectl get --raw /gantry/v1/${path}`).waitFor();
  await expectAccessible(page);
  const path = `/api/v1/namespaces/${ns}/configmaps`;
  const before = JSON.parse(await kubectl(['get', '--raw', path])) as { metadata: { resourceVersion: string } };
  await kubectl(['create', 'configmap', 'recent', '--from-literal=a=1']);
  await open(`/objects/configmaps?ns=${ns}&at=${before.metadata.resourceVersion}`);
  await page.getByText('The past:').waitFor();
  await page.getByRole('row', { name: /kube-root/ }).waitFor();
  expect(await page.getByRole('row', { name: /recent/ }).count()).toBe(0);
  await open(`/control-loops?at=${before.metadata.resourceVersion}`);
  await page.getByText('Nobody keeps the past of this view: it shows now.').waitFor();
  await open(`/objects/configmaps?ns=${ns}&at=${before.metadata.resourceVersion}`);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByRole('row', { name: /recent/ }).waitFor();
  await open(`/history?ns=${ns}`);
  await page.getByRole('row', { name: /recent created .*kubectl-create/ }).waitFor();
  await expectAccessible(page);
});

test('pages go on after the API servers were away, on a phone and in the dark', async () => {
  const phone = await browser.signedIn({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  await browser.open(phone, `/objects/configmaps?ns=${ns}`);
  await phone.getByText(/ live$/).waitFor();
  const servers = await cluster.containers('apiserver');
  await cluster.docker(['kill', ...servers.map(({ id }) => id)]);
  await phone.getByText(/connection lost/).waitFor();
  await expectAccessible(phone);
  await cluster.docker(['start', ...servers.map(({ id }) => id)]);
  await phone.getByText(/ live$/).waitFor({ timeout: SOON_MS });
  await eventually('it is written', SOON_MS, async () => await kubectl(['create', 'configmap', 'after']));
  await phone.getByRole('row', { name: /after/ }).waitFor();
  await phone.context().close();
});
