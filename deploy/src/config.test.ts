import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readCommandConfig, shownPath } from './config.ts';
import { chooseSettings } from './settings/choose-settings.ts';
import { storeSettings } from './settings/ensure-settings.ts';

test('later commands and plain docker compose use the overlays of the last up', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-config-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const settings = await chooseSettings(home, {
    ...{ ranges: [], own: [], hasData: false },
    isPortFree: async () => true,
  });
  const up = (overlays?: string) => {
    const config = readCommandConfig({ GANTRY_HOME: home, GANTRY_OVERLAYS: overlays });
    storeSettings(config, settings, { services: 'gantry:1', pki: 'gantry-pki:1' }, '/var/lib/docker');
    return config.overlays;
  };
  expect(up()).toEqual([]);
  expect(up('light,hosts')).toEqual(['light', 'hosts']);
  expect(up()).toEqual(['light', 'hosts']);
  expect(readFileSync(join(home, 'env'), 'utf8')).toContain(
    'COMPOSE_FILE=docker-compose.yml:deploy/compose/light.yml:deploy/compose/hosts.yml\n',
  );
  expect(up(''), 'an empty value takes them back').toEqual([]);
  expect(up()).toEqual([]);
});

test.each([
  ['/checkout/.gantry/chaos/run', '.gantry/chaos/run'],
  ['/checkout-2/.gantry/chaos/run', '/checkout-2/.gantry/chaos/run'],
  ['/tmp/home/chaos/run', '/tmp/home/chaos/run'],
])('%s is shown as %s', (path, shown) => {
  expect(shownPath({ root: '/checkout' }, path)).toBe(shown);
});
