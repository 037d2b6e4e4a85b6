import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, terminalHasFocus } from './console-browser.ts';

/** Two thirds of a screen: words stay readable where a README shows it. */
const SIZE = { width: 1120, height: 640 };
const QUALITY = 70;
const MAX_BYTES = 100_000;

interface View {
  readonly name: string;
  readonly path: string;
  /** Text that is there when the picture is complete. */
  readonly shows: string | RegExp;
  readonly act?: (page: Page) => Promise<void>;
}

/** Takes a picture of each view, for docs/pictures. */
export async function takePictures(browser: ConsoleBrowser, folder: string, views: readonly View[]): Promise<void> {
  const page = await browser.signedIn({ viewport: SIZE, colorScheme: 'light', deviceScaleFactor: 1 });
  const session = await page.context().newCDPSession(page);
  mkdirSync(folder, { recursive: true });
  for (const { name, path, shows, act } of views) {
    await browser.open(page, path);
    await page.getByText(shows).first().waitFor();
    await act?.(page);
    await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => undefined);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
    const bytes = Buffer.from(data, 'base64');
    if (bytes.length > MAX_BYTES) throw new Error(`the picture of ${name} has ${bytes.length} bytes`);
    writeFileSync(join(folder, `console-${name}.webp`), bytes);
  }
  await page.context().close();
}

/** `namespace` has the Deployment `web` and the pods of the test. */
export function viewsOf(namespace: string): readonly View[] {
  const pod = `/objects/pods/${namespace}`;
  return [
    { name: 'cluster', path: '/', shows: /nodes ready/ },
    { name: 'control-loops', path: '/control-loops', shows: 'kube-controller-manager' },
    { name: 'etcd', path: '/etcd', shows: 'Flow control' },
    { name: 'history', path: `/history?ns=${namespace}`, shows: 'Written by' },
    { name: 'objects', path: '/objects/pods', shows: / live$/ },
    {
      name: 'related',
      path: `/objects/deployments.apps/${namespace}/web?tab=related`,
      shows: 'The same as a list',
      act: (page) => page.locator('.graph-node').first().waitFor(),
    },
    { name: 'yaml', path: `/objects/deployments.apps/${namespace}/web?tab=yaml`, shows: 'matchLabels' },
    { name: 'logs', path: `${pod}/talker?tab=logs`, shows: 'tick' },
    {
      name: 'terminal',
      path: `${pod}/talker?tab=terminal`,
      shows: 'attach instead',
      act: async (page) => {
        await page.getByRole('button', { name: 'Start' }).click();
        await terminalHasFocus(page);
        await page.keyboard.type('ls /\n');
        await page.locator('.xterm-rows', { hasText: 'etc' }).waitFor();
      },
    },
    { name: 'why', path: `${pod}/stuck?tab=why`, shows: 'No node takes it.' },
  ];
}
