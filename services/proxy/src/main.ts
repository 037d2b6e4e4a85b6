import { runMain } from '@gantry/service';
import { readProxyConfig } from './config.ts';
import { removeRules } from './remove-rules.ts';
import { runProxy } from './run-proxy.ts';

await runMain(async () => {
  const config = readProxyConfig();
  if (process.argv[2] !== 'remove') return await runProxy(config);
  await removeRules(config);
  return { kind: 'signal', signal: 'SIGTERM', stop: 'orderly' };
});
