import { runMain } from '@gantry/service';
import { readApiServerConfig } from './config.ts';
import { runApiServer } from './run-api-server.ts';
import { runReseal } from './run-reseal.ts';

const [command, ...args] = process.argv.slice(2);
const config = readApiServerConfig();
if (command === 'reseal') await runReseal(config, args);
else await runMain(() => runApiServer(config));
