import { runMain } from '@gantry/service';
import { readApiServerConfig } from './config.ts';
import { runApiServer } from './run-api-server.ts';

await runMain(() => runApiServer(readApiServerConfig()));
