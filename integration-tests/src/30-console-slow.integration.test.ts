import type { Page } from 'playwright-core';
import { CONFIG_MAPS, DEPLOYMENTS } from '@gantry/objects';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { ConsoleBrowser } from './harness/console-browser.ts';

/** What a person does while the page is slow, or the server answers late: it must be what the person meant. */
const cluster = new Cluster();
let browser: ConsoleBrowser;
let page: Page;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let ns: string;
const kubectl = (args: readonly string[], input = '') => cluster.mustKubectl(['-n', ns, ...args], { input });
const open = (path: string) => browser.open(page, path);
const focused = () => page.locator(':focus');

/** Makes the page so many times as slow, until the end of the test. */
async function slowDown(rate: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate });
  onTestFinished(() => session.detach());
}

/** Holds requests back until the result is called. */
async function hold(path: RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(path, async (route) => {
    await promise;
    await route.continue();
  });
  onTestFinished(() => page.unroute(path));
  return resolve;
}

const configMap = (name: string) =>
  cluster.create(CONFIG_MAPS, ns, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: '1' } });

beforeAll(async () => {
  browser = await ConsoleBrowser.start(cluster);
  [page, namespace] = await Promise.all([browser.signedIn(), cluster.namespace()]);
  ns = namespace.name;
  await cluster.create(DEPLOYMENTS, ns, nginxDeployment('web', 1));
  for (const name of ['b', 'c', 'd']) await configMap(name);
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await namespace?.[Symbol.asyncDispose]();
});

afterEach(() => expect(browser.complaints).toEqual([]));

test('what is typed after Ctrl-K is for the palette, from the first letter', async () => {
  await open('/');
  await page.getByRole('button', { name: /^Search/ }).waitFor();
  await slowDown(20);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('configmap');
  const search = page.getByRole('combobox', { name: 'Search' });
  await expect.poll(() => search.inputValue()).toBe('configmap');
  await page.keyboard.press('Escape');
});

test('Enter directly after the last letter opens what the whole text says', async () => {
  await open(`/?ns=${ns}`);
  await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  const search = page.getByRole('combobox', { name: 'Search' });
  await search.fill('deploy');
  await page.getByRole('option', { name: /^web / }).waitFor();
  // Both in one task of the page: it has no time for anything that it puts off.
  await search.evaluate(async (input) => {
    const { HTMLInputElement, InputEvent, KeyboardEvent } = input.ownerDocument.defaultView;
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, 'deploy web');
    input.dispatchEvent(new InputEvent('input', { bubbles: true }));
    await Promise.resolve();
    input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  });
  await page.getByRole('heading', { name: /Deployment.*web/ }).waitFor();
});

test('letters that are typed while the address follows stay in the field', async () => {
  const longer = `${ns}-more`;
  await cluster.mustKubectl(['create', 'namespace', longer]);
  onTestFinished(async () => {
    await cluster.mustKubectl(['delete', 'namespace', longer, '--wait=false']);
  });
  await open('/objects/configmaps');
  await page.locator(`datalist option[value="${longer}"]`).waitFor({ state: 'attached' });
  const picker = page.getByRole('combobox', { name: 'Namespace' });
  await picker.focus();
  // In one task of the page: the address has the first text when the second one has been typed.
  await picker.evaluate(
    async (input, texts) => {
      const { HTMLInputElement, InputEvent } = input.ownerDocument.defaultView;
      for (const text of texts) {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, text);
        input.dispatchEvent(new InputEvent('input', { bubbles: true }));
        await Promise.resolve();
      }
    },
    [ns, longer.slice(0, -1)],
  );
  await page.waitForURL(new RegExp(`ns=${ns}$`));
  expect(await picker.inputValue()).toBe(longer.slice(0, -1));
  await page.keyboard.press('End');
  await page.keyboard.type(longer.slice(-1));
  await page.waitForURL(new RegExp(`ns=${longer}$`));
  expect(await picker.inputValue()).toBe(longer);
});

test('the filter says what the table shows, also after the address has changed', async () => {
  await open(`/objects/configmaps?ns=${ns}`);
  const filter = page.getByLabel('Filter', { exact: true });
  await filter.fill('kube-root');
  await page.getByRole('row', { name: /^b / }).waitFor({ state: 'detached' });
  await page.getByRole('navigation').getByRole('link', { name: 'ConfigMap', exact: true }).click();
  await page.getByRole('row', { name: /^b / }).waitFor();
  expect(await filter.inputValue()).toBe('');
});

test('the keyboard stays at its row when others come and go', async () => {
  await open(`/objects/configmaps?ns=${ns}`);
  await page.getByRole('link', { name: 'c', exact: true }).focus();
  await configMap('a');
  await page.getByRole('row', { name: /^a / }).waitFor();
  await page.keyboard.press('ArrowDown');
  await expect.poll(() => focused().textContent()).toBe('d');
  await kubectl(['delete', 'configmap', 'd']);
  await page.getByRole('row', { name: /^d / }).waitFor({ state: 'detached' });
  await expect.poll(() => focused().textContent()).toBe('kube-root-ca.crt');
  await page.keyboard.press('ArrowUp');
  await expect.poll(() => focused().textContent()).toBe('c');
});

test('work that ends late closes nothing that was opened since', async () => {
  await open(`/objects/deployments.apps/${ns}/web?do=scale`);
  const release = await hold(/\/scale\?/);
  await page.getByRole('dialog', { name: 'Scale web' }).getByRole('button', { name: 'Scale' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Roll back' }).click();
  const dialog = page.getByRole('dialog', { name: 'Roll back web' });
  await dialog.waitFor();
  const answered = page.waitForResponse(/\/scale\?/);
  release();
  await answered;
  // The page has seen the response when it has seen one that was asked for later.
  await page.evaluate(`fetch('/session').then((response) => response.text())`);
  expect(await dialog.isVisible()).toBe(true);
  await page.keyboard.press('Escape');
});

test('a field that is being cleared scales to nothing', async () => {
  await open(`/objects/deployments.apps/${ns}/web?do=scale`);
  const dialog = page.getByRole('dialog', { name: 'Scale web' });
  await dialog.getByLabel('Replicas').fill('');
  await page.keyboard.press('Enter');
  expect(await dialog.getByLabel('Replicas').inputValue()).toBe('');
  expect(await dialog.isVisible()).toBe(true);
  expect((await cluster.get(DEPLOYMENTS, ns, 'web')).spec?.replicas).toBe(1);
});

test('before the rights are known, nothing is said to go with a namespace, and it cannot be deleted', async () => {
  const release = await hold(/selfsubjectrulesreviews/);
  await open(`/objects/namespaces/-/${ns}?do=delete`);
  const dialog = page.getByRole('dialog', { name: `Delete Namespace ${ns}?` });
  await dialog.getByText('Loading what it owns').waitFor();
  expect(await dialog.getByRole('button', { name: 'Delete', exact: true }).isDisabled()).toBe(true);
  expect(await dialog.getByText('Nothing else goes with it.').count()).toBe(0);
  release();
  await dialog.getByText(/other objects go with it/).waitFor();
});

test('who signs in after another user sees nothing of what that one has read', async () => {
  const own = await browser.signedIn();
  await own.getByRole('navigation').getByRole('link', { name: 'Secret', exact: true }).waitFor();
  const token = await kubectl(['create', 'token', 'default']);
  await own.getByLabel(/signed in as/).click();
  await own.getByRole('button', { name: 'Sign out' }).click();
  await own.getByLabel('Token of a ServiceAccount').fill(token.trim());
  // What is not asked for again within a minute would be that of the user before.
  const asked = own.waitForResponse(/selfsubjectrulesreviews/);
  await own.getByRole('button', { name: 'Sign in' }).click();
  await asked;
  await own.getByRole('alert').getByText('You may not see nodes.').waitFor();
  expect(await own.getByRole('navigation').getByRole('link', { name: 'Secret', exact: true }).count()).toBe(0);
  await own.context().close();
});

test('what a change of the network has interrupted is asked for again', async () => {
  const lost: string[] = [];
  await page.route(/\/session$|\/assets\/why-tab|\/assets\/restart-dialog/, async (route) => {
    const url = route.request().url();
    if (lost.includes(url)) return route.continue();
    lost.push(url);
    return route.abort('connectionreset');
  });
  onTestFinished(() => page.unrouteAll());
  await open(`/objects/deployments.apps/${ns}/web`);
  await page.getByRole('link', { name: 'Why', exact: true }).click();
  await page.getByText(/^All \d+ pods? are ready/).waitFor();
  await page.getByRole('button', { name: 'Restart' }).click();
  await page.getByRole('dialog', { name: 'Restart web' }).waitFor();
  expect(lost).toHaveLength(3);
});
