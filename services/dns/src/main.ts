import { runMain } from '@gantry/service';
import { readDnsConfig } from './config.ts';
import { runDns } from './run-dns.ts';

await runMain(() => runDns(readDnsConfig()));
