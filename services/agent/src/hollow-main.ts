// Simulates nodes without containers, for scale tests. See `npm run hollow` in docs/developing.md.
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock, systemRandom, wholeNumber } from '@gantry/base';
import { createHttpClient, readKubeconfig } from '@gantry/client';
import { createLogger, runGroup, runMain } from '@gantry/service';
import { runHollowNodes } from './hollow-nodes.ts';

const MAX_NODES = 5000;

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '10' },
      prefix: { type: 'string', default: 'hollow' },
      heartbeat: { type: 'string', default: '1' },
      kubeconfig: { type: 'string', default: '.gantry/kubeconfig' },
    },
  });
  const count = wholeNumber('--nodes', values.nodes, 1, MAX_NODES);
  const heartbeatMs = wholeNumber('--heartbeat', values.heartbeat, 1, 3600) * 1000;
  const logger = createLogger({ service: 'hollow', level: 'info' });
  using client = createHttpClient({ ...readKubeconfig(values.kubeconfig), fieldManager: 'kubelet' });
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'gantry-hollow-'));
  const options = {
    client,
    count,
    prefix: values.prefix,
    heartbeatMs,
    folder: temporary.path,
    clock: systemClock,
    random: systemRandom,
    logger,
  };
  const run = (signal: AbortSignal) => runHollowNodes(options, signal);
  return await runGroup([{ name: 'hollow nodes', run }], { clock: systemClock, logger });
});
