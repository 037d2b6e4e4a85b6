import { runMain } from '@gantry/service';
import { readIngressConfig } from './config.ts';
import { runIngress } from './run-ingress.ts';

await runMain(() => runIngress(readIngressConfig()));
