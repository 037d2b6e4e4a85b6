import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { SERVICE_ACCOUNTS } from '@gantry/objects';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { ConsoleBrowser, expectAccessible } from './harness/console-browser.ts';
import { eventually } from './harness/eventually.ts';

const SOON_MS = 60_000;
/** A fault begins when the recording of all members of etcd has begun. */
const FAULT_MS = 120_000;
/** Until the cluster is healthy, the workload has finished and the checker has read the run. */
const VERDICT_MS = 300_000;
const RUN = `
apiVersion: chaos.gantry.dev/v1alpha1
kind: ChaosRun
metadata: { generateName: refused- }
spec: { plan: [{ kind: kill, target: proxy/1 }] }
`;

const cluster = new Cluster();
let browser: ConsoleBrowser;
let page: Page;
let service: ChildProcess | undefined;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
const pausedSchedulers = async () => (await cluster.containers('scheduler')).filter(({ state }) => state === 'paused');

beforeAll(async () => {
  browser = await ConsoleBrowser.start(cluster);
  [page, namespace] = await Promise.all([browser.signedIn(), cluster.namespace()]);
});

afterAll(async () => {
  if (service?.exitCode === null) {
    service.kill('SIGTERM');
    await once(service, 'close');
  }
  await browser?.[Symbol.asyncDispose]();
  await namespace?.[Symbol.asyncDispose]();
  await cluster.mustKubectl([
    'delete',
    'crd',
    '--ignore-not-found',
    'chaosruns.chaos.gantry.dev',
    'chaosservices.chaos.gantry.dev',
  ]);
});

const refreshUntil = (text: string) =>
  eventually(`the page says ${text}`, FAULT_MS, async () => {
    await browser.open(page, '/chaos');
    return await page
      .getByText(text)
      .first()
      .waitFor({ timeout: 5_000 })
      .then(
        () => true,
        () => false,
      );
  });

test('without the chaos service the view says how to start it', async () => {
  await browser.open(page, '/');
  await page.getByRole('navigation').getByRole('link', { name: 'Chaos', exact: true }).click();
  await page.getByText('Nothing makes faults at this cluster.').waitFor();
  await page.getByText('npm run chaos -- serve').waitFor();
  await expectAccessible(page);
});

test('a button makes a fault; deleting its object heals it first', async () => {
  service = spawn(join(cluster.root, 'deploy/bin/chaos'), ['serve'], {
    env: { ...process.env, GANTRY_HOME: cluster.home },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await refreshUntil('Strike one component');
  await expectAccessible(page);
  await page.getByRole('combobox', { name: 'Component' }).selectOption('scheduler/leader');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page
    .getByRole('table', { name: 'Faults now' })
    .getByText('pause scheduler/leader')
    .waitFor({ timeout: FAULT_MS });
  expect(await pausedSchedulers()).toHaveLength(1);
  await page.getByRole('button', { name: 'End it and heal everything' }).click();
  await page.getByText('No run yet.').waitFor({ timeout: VERDICT_MS });
  expect(await pausedSchedulers()).toHaveLength(0);
  expect(await cluster.mustKubectl(['get', 'chaosruns', '-o', 'name'])).toBe('');
});

test("the death of a leader gets the checker's verdict, which kubectl shows too", async () => {
  await page.getByRole('combobox', { name: 'Component' }).selectOption('controller-manager/leader');
  await page.getByRole('button', { name: 'Kill', exact: true }).click();
  const verdict = page.getByRole('table', { name: 'Verdict' });
  await verdict.getByRole('row', { name: /^I1 holds / }).waitFor({ timeout: VERDICT_MS });
  await verdict.getByRole('row', { name: /^I25 holds / }).waitFor();
  await page.getByText('no violation', { exact: true }).waitFor();
  await page.getByText(/^npm run chaos -- --replay /).waitFor();
  await expectAccessible(page);
  expect(await cluster.mustKubectl(['get', 'chaosruns'])).toMatch(/^kill-\S+ +Passed +1 +\d+ +\d+ /m);
  expect(await cluster.mustKubectl(['get', 'chaosruns', '-o', 'jsonpath={.items[0].metadata.finalizers}'])).toBe('');
});

test('who may only read runs is offered no fault, and the API refuses one', async () => {
  const ns = namespace.name;
  const object = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'watcher' } };
  await cluster.create(SERVICE_ACCOUNTS, ns, object);
  const resources = 'chaosruns.chaos.gantry.dev,chaosservices.chaos.gantry.dev';
  await cluster.mustKubectl(['create', 'clusterrole', ns, '--verb=get,list,watch', `--resource=${resources}`]);
  await cluster.mustKubectl([
    'create',
    'clusterrolebinding',
    ns,
    `--clusterrole=${ns}`,
    `--serviceaccount=${ns}:watcher`,
  ]);
  const watcher = await browser.signedInAs(ns, 'watcher');
  await browser.open(watcher, '/chaos');
  await watcher.getByText('You may not create ChaosRuns').waitFor();
  await watcher.getByRole('table', { name: 'Verdict' }).waitFor();
  for (const absent of ['Kill', 'Start', 'Delete'])
    expect(await watcher.getByRole('button', { name: absent, exact: true }).count()).toBe(0);
  await watcher.context().close();
  const as = `--as=system:serviceaccount:${ns}:watcher`;
  const refused = await cluster.kubectl(['create', '-f', '-', as], { input: RUN });
  expect(refused.stderr).toContain('cannot create resource "chaosruns"');
  await cluster.mustKubectl(['delete', 'clusterrole,clusterrolebinding', ns]);
});

test('when the service ends, the view says so', async () => {
  service?.kill('SIGTERM');
  await page.getByText('Nothing makes faults at this cluster.').waitFor({ timeout: SOON_MS });
  if (service?.exitCode === null) await once(service, 'close');
  expect(service?.exitCode).toBe(0);
  expect(await page.getByRole('button', { name: 'Kill', exact: true }).count()).toBe(0);
});
