import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');

/** Settings of services that the cluster of Compose leaves at their default. */
const NOT_IN_COMPOSE = [
  // Of agents outside of Compose, and of hosts that join.
  'GANTRY_API_PORT',
  'GANTRY_HOST_NAME',
  'GANTRY_NODE_ADDRESS',
  'GANTRY_NODE_NAME',
  'GANTRY_PROXY_TLS_DIR',
  // Places and images that other parts of the cluster expect.
  'GANTRY_APISERVER_URL',
  'GANTRY_AUDIT_LOG_DIR',
  'GANTRY_AUDIT_POLICY_FILE',
  'GANTRY_CA_FILE',
  'GANTRY_CONSOLE_WEB_DIR',
  'GANTRY_DOCKER_SOCKET',
  'GANTRY_GRPC_PORT',
  'GANTRY_PROCESSES',
  'GANTRY_RUN_DIR',
  'GANTRY_SANDBOX_IMAGE',
  'GANTRY_SNAPSHOT_DIR',
];

it('Compose gives every setting to the services that read it: else a value in .env has no effect', () => {
  const compose = read('docker-compose.yml');
  const settings = [...read('docs/conventions.md').matchAll(/^\| `(GANTRY_\w+)` \|/gm)].map(([, name = '']) => name);
  expect(settings.length).toBeGreaterThan(60);
  const missing = settings.filter((name) => !new RegExp(`^ +${name}: `, 'm').test(compose));
  const remedy = 'docs/extending.md, "A setting", says where a new setting goes';
  expect(missing.toSorted(), remedy).toEqual(NOT_IN_COMPOSE.toSorted());
});
