import { readFileSync } from 'node:fs';
import { must } from '@gantry/base';
import { startConsole } from './console.ts';

/**
 * A console without a cluster, for measurements, on a free port of 127.0.0.1. It prints its origin:
 * `node --conditions=gantry-source services/console/src/testing/dev-console.ts API_SERVER CA_FILE WEB_DIR`.
 */
const [url, caFile, webDir] = process.argv.slice(2);
const limits = { max: 256, maxOfUser: 32, maxRequests: 300 };
const ca = readFileSync(must(caFile, 'CA_FILE'), 'utf8');
const running = await startConsole({ url: must(url, 'API_SERVER'), ca, webDir: must(webDir, 'WEB_DIR'), limits });
process.stdout.write(`${running.origin}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    running[Symbol.asyncDispose]().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
